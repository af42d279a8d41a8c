// Makes a fresh clone ready: installs what the lock files say, then builds. Works before anything is installed.
//   --peers   also installs the other implementations that the interop tests and the benchmarks run against
//   --conformance   also installs the official conformance suite and the Node it needs
//   --nodes   also installs another version of Node, on which tests load the published packages
//   --browser   also installs a browser, from the packages of the system
//   --git   also installs git, which the server of repositories runs
//   --postgres   also installs PostgreSQL, which the tests of the server of databases start
//   --shells   also installs zsh and fish, in which the tests complete command lines
//   --wrk   also installs wrk, which creates the load of the benchmarks over HTTP
//   --commands   also installs the other commands that a benchmark runs beside portolan
//   --openssl   also installs openssl, which makes certificates for tests
//   --once   leaves a library alone that was built before: programs that run may still load parts of it
//   --check   on failure also prints the closing line of a test run
import { spawnSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const flags = new Set(process.argv.slice(2));

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 19)) fail(`Node 20.19 or newer is needed, this is ${process.versions.node}`);

install(root);
if (flags.has("--peers")) install(join(root, "test/peers"));
if (flags.has("--commands")) install(join(root, "bench/commands"), "--ignore-scripts");
if (flags.has("--conformance")) install(join(root, "test/conformance/runtime"));
if (flags.has("--nodes")) install(join(root, "test/release/runtime"));
if (flags.has("--browser")) installPackage("chromium", "/usr/bin/chromium");
if (flags.has("--git")) installPackage("git", "/usr/bin/git");
if (flags.has("--postgres")) installPackage("postgresql", "/usr/bin/pg_ctlcluster");
if (flags.has("--wrk")) installPackage("wrk", "/usr/bin/wrk");
if (flags.has("--shells")) for (const shell of ["zsh", "fish"]) installPackage(shell, `/usr/bin/${shell}`);
if (flags.has("--openssl")) installPackage("openssl", "/usr/bin/openssl");
if (flags.has("--once") && existsSync(join(root, "packages/portolan/dist/index.js"))) process.exit();
const { buildLibrary } = await import("./build.mjs");
const problem = await buildLibrary().catch((error) => error.message);
if (problem !== undefined) fail(`build failed: ${problem}`);

function install(folder, ...options) {
  const lock = join(folder, "package-lock.json");
  const installed = join(folder, "node_modules/.package-lock.json");
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs) return;
  // Not `npm ci`: a lock made on one platform lacks the optional binaries of others, and `ci` refuses it.
  run(
    `install ${folder}`,
    "npm",
    ["install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error", ...options],
    folder,
  );
}

/** What a test needs of the system itself: Debian's, because its version is the one that the tests were run with. */
function installPackage(name, file) {
  if (existsSync(file)) return;
  const apt = (...args) => run(`install ${name} with apt-get`, "apt-get", args, root);
  apt("update", "-qq");
  apt("install", "-y", "-qq", "--no-install-recommends", name);
  if (!existsSync(file)) fail(`${file} is missing, and the package ${name} has not brought it`);
}

function run(what, command, args, cwd) {
  const { status, error, stdout, stderr } = spawnSync(command, args, { cwd, encoding: "utf8" });
  if (status === 0) return;
  process.stderr.write(`${stdout ?? ""}${stderr ?? ""}`);
  fail(`${what} failed: ${error?.message ?? `exit code ${status}`}`);
}

function fail(reason) {
  console.error(`setup: ${reason}`);
  if (flags.has("--check")) console.log("0 passed, 1 failed");
  process.exit(1);
}
