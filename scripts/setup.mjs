// Makes a fresh clone ready: installs what the lock files say, then builds. Works before anything is installed.
//   --peers   also installs the other implementations that the interop tests and the benchmarks run against
//   --services   also installs what the vendors of services publish, by which the fakes of the tests are proved
//   --conformance   also installs the official conformance suite and the Node it needs
//   --nodes   also installs another version of Node, on which tests load the published packages
//   --commands   also installs the other commands that a benchmark runs beside portolan
//   --browser, --git, --nginx, --postgres, --redis, --shells, --wrk, --openssl   also installs these programs of the system, if they
//     are not on the PATH and this is root with apt-get; otherwise says which tests are skipped, and fails if CI is set
//   --once   leaves a library alone that was built before: programs that run may still load parts of it
//   --check   on failure also prints the closing line of a test run
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { isBuilt } from "./build-stamp.mjs";
import { findProgram, installCommand, isOnPath, programs } from "./programs.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const flags = new Set(process.argv.slice(2));

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  fail(`Node 20.19 or newer is needed, this is ${process.versions.node}. Install it from https://nodejs.org`);
}

await install(root, "packages");
if (flags.has("--peers")) await install(join(root, "test/peers"), "other implementations to test against");
if (flags.has("--peers")) await install(join(root, "test/apps/peers"), "other implementations of apps");
if (flags.has("--peers"))
  await install(join(root, "test/interop/inspector/runtime"), "the Inspector", "--ignore-scripts");
if (flags.has("--services"))
  await install(join(root, "test/services/vendors"), "the packages of services", "--ignore-scripts");
if (flags.has("--commands")) await install(join(root, "bench/commands"), "other commands", "--ignore-scripts");
if (flags.has("--conformance")) await install(join(root, "test/conformance/runtime"), "the conformance suite");
if (flags.has("--nodes")) await install(join(root, "test/release/runtime"), "another version of Node");
/** Programs of the system, by the flag that asks for them. */
const wanted = { "--browser": ["chromium"], "--git": ["git"], "--postgres": ["postgresql"], "--wrk": ["wrk"] };
Object.assign(wanted, {
  "--shells": ["zsh", "fish"],
  "--openssl": ["openssl"],
  "--redis": ["redis-server"],
  "--nginx": ["nginx"],
});
await installPrograms(Object.entries(wanted).flatMap(([flag, names]) => (flags.has(flag) ? names : [])));
if (flags.has("--once") && existsSync(join(root, "packages/portolan/dist/index.js"))) process.exit();
if (!isBuilt()) {
  const problem = await step("building", async (show) => {
    const { buildLibrary } = await import("./build.mjs");
    return buildLibrary(show).catch((error) => error.message);
  });
  if (problem !== undefined) fail(`the build failed:\n${problem}`);
}

async function install(folder, what, ...options) {
  const lock = join(folder, "package-lock.json");
  const installed = join(folder, "node_modules/.package-lock.json");
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs) return;
  const where = relative(root, folder) || "node_modules";
  await step(`installing ${what}`, async (show) => {
    show(`npm install into ${where}`);
    // Not `npm ci`, which first removes all that is installed.
    await run(
      `npm install in ${folder}`,
      "npm",
      ["install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error", ...options],
      folder,
    );
  });
}

/** Installs programs of the system that are missing, where this user may. */
async function installPrograms(names) {
  const missing = () => programs.filter(({ name }) => names.includes(name) && findProgram(name) === undefined);
  const packages = missing().map(({ apt }) => apt);
  const mayInstall = process.platform === "linux" && process.getuid?.() === 0 && isOnPath("apt-get");
  if (packages.length > 0 && mayInstall) {
    await step(`installing ${packages.join(", ")}`, async (show) => {
      // A failure of apt-get, for example without a network, leaves programs missing, which is handled below.
      show("apt-get update");
      await problemOf("apt-get", ["update", "-qq"], root);
      show("apt-get install");
      const install = ["install", "-y", "-qq", "--no-install-recommends", ...packages];
      // With this run level, packages of servers do not start them.
      const problem = await problemOf("apt-get", install, root, { ...process.env, RUNLEVEL: "1" });
      if (problem !== undefined) say(problem);
    });
  }
  const left = missing().map((program) => `${program.name} is missing. Install it: ${installCommand(program)}`);
  if (left.length > 0 && process.env.CI) fail(left.join("\n"));
  for (const line of left) say(`${line} (until then, its tests are skipped and named at the end)`);
}

/**
 * Does a piece of work, and says what it is, what it does at the moment, and how long it takes: in a terminal on a line
 * that changes, elsewhere on two lines.
 */
async function step(what, work) {
  const began = Date.now();
  const seconds = () => `${Math.round((Date.now() - began) / 1000)} s`;
  let current = "";
  const isTerminal = process.stderr.isTTY;
  const draw = () => process.stderr.write(`\r\u001b[K${cut(`${what}: ${current}, ${seconds()}`)}`);
  const show = (text) => {
    current = text;
    if (isTerminal) draw();
  };
  if (!isTerminal) say(what);
  else show("starting");
  const timer = isTerminal ? setInterval(draw, 250) : undefined;
  try {
    return await work(show);
  } finally {
    clearInterval(timer);
    if (isTerminal) process.stderr.write("\r\u001b[K");
    say(`${what}: done in ${seconds()}`);
  }
}

function cut(text) {
  return text.slice(0, (process.stderr.columns || 80) - 1);
}

function say(text) {
  process.stderr.write(`${text}\n`);
}

async function run(what, command, args, cwd) {
  const problem = await problemOf(command, args, cwd);
  if (problem !== undefined) fail(`${what} failed: ${problem}`);
}

/** Runs a command. Returns its output if it fails. */
async function problemOf(command, args, cwd, env = process.env) {
  const child = spawn(command, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
  }
  const [code] = await once(child, "close").catch((error) => [error.message]);
  return code === 0 ? undefined : `${command} ended with ${code}:\n${output}`;
}

function fail(reason) {
  say(`setup: ${reason}`);
  if (flags.has("--check")) console.log("0 passed, 1 failed");
  process.exit(1);
}
