// Lists published servers and calls one harmless tool of each, through the command and through `portolan serve`.
// Servers are installed without their scripts into a cache folder outside the repository, and started without
// credentials. The table goes into docs/conformance.md.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { toTable } from "./table.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const document = join(root, "docs/conformance.md");
const command = join(root, "packages/portolan/dist/cli/main.js");
const cache = process.env["PORTOLAN_PUBLISHED"] || join(cacheFolder(), "portolan/published");
const installMs = 240_000;
const stepMs = 60_000;
/** Heap of a server's process. A server that starts others passes no limit on. */
const heapMb = 512;
const maxOutput = 32 * 1024 * 1024;

/** The servers to try, with pinned versions. */
export function readList() {
  return JSON.parse(readFileSync(join(root, "test/peers/published.json"), "utf8"));
}

/** Runs all servers one after the other, or those whose name contains a text; returns the exit code. */
export async function runPublished(only) {
  const list = readList().filter((one) => only === undefined || one.package.includes(only));
  const rows = [];
  for (const server of list) {
    const row = await tryServer(server);
    rows.push(row);
    console.log(`${row.package}@${row.version}: ${steps.map((step) => `${step} ${said(row[step])}`).join(", ")}`);
  }
  const { heading, lines, reasons } = toPublishedTable(rows);
  console.log(["", toTable(heading, lines), "", ...reasons].join("\n"));
  if (only === undefined) writeTable(rows);
  const failed = rows.filter((row) => steps.some((step) => row[step].why !== undefined)).length;
  console.log(`published: ${rows.length} servers, ${rows.length - failed} without a failure, ${failed} with one`);
  return rows.length > 0 && failed === 0 ? 0 : 1;
}

/** What is done with each server, in this order: each step has a result of its own. */
const steps = ["ls", "call", "served ls", "served call"];

async function tryServer({ package: name, version, bin, args = [], call }) {
  const row = { package: name, version, revision: "–", tools: "–" };
  for (const step of steps) row[step] = call || !step.endsWith("call") ? { why: "not reached" } : none;
  const folder = mkdtempSync(join(tmpdir(), "portolan-published-"));
  try {
    const file = await install(name, version, bin);
    const given = args.map((one) => one.replaceAll("{folder}", folder));
    const target = ["--", process.execPath, `--max-old-space-size=${heapMb}`, file, ...given];
    row.ls = await attempt(async () => {
      const listed = JSON.parse(await portolan(["ls", ...target], folder));
      row.revision = listed.server.version;
      row.names = listed.tools.map(({ name }) => name);
      row.tools = String(row.names.length);
    });
    if (call) row.call = await attempt(() => portolan(["call", ...toCall(call, folder), ...target], folder));
    await served(row, call, target, folder);
  } catch (reason) {
    for (const step of steps) if (row[step].why === "not reached") row[step] = { why: firstLine(reason.message) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return row;
}

/** A step that a server has nothing for. */
const none = {};

async function served(row, call, target, folder) {
  const serving = start(["serve", "--http", "0", ...target], folder);
  try {
    const { url } = JSON.parse(await serving.firstLine(stepMs));
    row["served ls"] = await attempt(async () => {
      const { tools } = JSON.parse(await portolan(["ls", url], folder));
      // A server may offer more to `serve`, which declares more capabilities than `ls`.
      const missing = (row.names ?? []).filter((name) => !tools.some((tool) => tool.name === name));
      if (missing.length > 0) throw new Error(`lacks the tools ${missing.join(", ")}`);
    });
    if (call) row["served call"] = await attempt(() => portolan(["call", url, ...toCall(call, folder)], folder));
  } finally {
    await serving.end();
  }
}

function toCall({ tool, arguments: args = {} }, folder) {
  return [tool, JSON.stringify(args).replaceAll("{folder}", folder)];
}

async function attempt(work) {
  try {
    await work();
    return { ok: true };
  } catch (reason) {
    return { why: firstLine(reason.message) };
  }
}

/** Installs a package once; returns the file of its command. */
async function install(name, version, bin) {
  const folder = join(cache, `${name.replaceAll("/", "+")}@${version}`);
  const installed = join(folder, "node_modules", name);
  const done = join(folder, "installed");
  if (!existsSync(done)) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), "{}\n");
    const args = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", `${name}@${version}`];
    const { code, stdout, stderr } = await run("npm", args, { cwd: folder, ms: installMs, env: process.env });
    if (code !== 0) throw new Error(`cannot be installed: ${firstLine(stderr || stdout)}`);
    writeFileSync(done, "");
  }
  const { bin: bins } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
  const file = typeof bins === "string" ? bins : (bins?.[bin] ?? Object.values(bins ?? {})[0]);
  if (file === undefined) throw new Error("the package has no command");
  return join(installed, file);
}

/** Runs the command; resolves to its output, and rejects with the reason it gives. */
async function portolan(args, folder) {
  const { code, stdout, stderr } = await run(process.execPath, [command, ...args], { ...place(folder), ms: stepMs });
  if (code !== 0) throw new Error(reasonIn(stderr) ?? `ended with ${code}`);
  return stdout;
}

/** A folder of its own as home: no configuration and no credentials of the user reach a server. */
function place(folder) {
  return { cwd: folder, env: { PATH: process.env["PATH"], HOME: folder, XDG_CONFIG_HOME: join(folder, "config") } };
}

function reasonIn(stderr) {
  for (const line of stderr.split("\n").reverse()) {
    try {
      const { error } = JSON.parse(line);
      if (error?.message) return error.message;
    } catch {
      // A line of the server itself.
    }
  }
  return stderr.trim() || undefined;
}

/** Runs a program in a process group of its own, which ends with it. */
async function run(file, args, { cwd, env, ms }) {
  const child = track(spawn(file, args, { cwd, env, detached: true, stdio: ["ignore", "pipe", "pipe"] }));
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"]) {
    child[name].setEncoding("utf8").on("data", (text) => {
      if (output[name].length < maxOutput) output[name] += text;
    });
  }
  return await new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      endGroup(child);
      reject(new Error(`no end after ${ms / 1000} s`));
    }, ms);
    child.once("error", reject);
    child.once("close", (code, signal) => {
      clearTimeout(timer);
      endGroup(child);
      resolve({ code: code ?? signal, ...output });
    });
  });
}

/** Starts the command, which prints one line when it is ready. */
function start(args, folder) {
  const options = { ...place(folder), detached: true, stdio: ["ignore", "pipe", "pipe"] };
  const child = track(spawn(process.execPath, [command, ...args], options));
  const exited = new Promise((resolve) => child.once("exit", resolve));
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text) => {
    stderr = (stderr + text).slice(-100_000);
  });
  return {
    firstLine: (ms) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error(`not ready after ${ms / 1000} s`)), ms);
        child.stdout.setEncoding("utf8").once("data", (text) => {
          clearTimeout(timer);
          resolve(text.split("\n", 1)[0]);
        });
        child.once("exit", (code) => {
          clearTimeout(timer);
          reject(new Error(reasonIn(stderr) ?? `ended with ${code}`));
        });
      }),
    async end() {
      child.kill("SIGTERM");
      const timer = setTimeout(() => endGroup(child), 10_000);
      await exited;
      clearTimeout(timer);
      endGroup(child);
    },
  };
}

/** Processes that run now, each the first of its group: none may outlive this one. */
const running = new Set();

function track(child) {
  running.add(child);
  child.once("exit", () => running.delete(child));
  return child;
}

process.once("exit", () => [...running].forEach(endGroup));
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

function endGroup({ pid }) {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // All of its processes have ended.
  }
}

/** Returns the first line of a text of a server, fit for a table. */
function firstLine(text) {
  const [line = ""] = text.trim().split("\n");
  return line
    .replace(/^The server ".*?" (?=exited|was|did)/, "the server ")
    .replaceAll(homedir(), "~")
    .replaceAll(/\/tmp\/portolan-published-\w+/g, "{folder}")
    .replaceAll(/\S*\/node_modules\//g, "")
    .replaceAll(/\p{C}/gu, " ")
    .slice(0, 200);
}

function said({ ok, why }) {
  return ok ? "ok" : why === undefined ? "–" : `FAIL (${why})`;
}

/** Returns the table of results: failures are numbered, and their reasons stand below. */
export function toPublishedTable(rows) {
  const reasons = [];
  const cell = ({ ok, why }) => {
    if (ok) return "ok";
    if (why === undefined) return "–";
    const known = reasons.indexOf(why);
    return `FAIL ${known >= 0 ? known + 1 : reasons.push(why)}`;
  };
  const lines = rows.map((row) => [
    ...[row.package, row.version, row.revision, row.tools],
    ...steps.map((step) => cell(row[step])),
  ]);
  const heading = ["server", "version", "revision", "tools", "ls", "call", "serve, ls", "serve, call"];
  return { heading, lines, reasons: reasons.map((why, at) => `${at + 1}. ${why}`) };
}

function writeTable(rows) {
  const { heading, lines, reasons } = toPublishedTable(rows);
  const toRow = (cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  const table = [toRow(heading), toRow(heading.map(() => "---")), ...lines.map(toRow)].join("\n");
  const plain = reasons.map((reason) => reason.replaceAll(/[<>`*_[\]|\\]/g, (character) => `\\${character}`));
  const content = [table, ...(plain.length > 0 ? ["", ...plain] : [])].join("\n");
  const [before, begin, end] = [readFileSync(document, "utf8"), "<!-- published -->", "<!-- end published -->"];
  if (!before.includes(begin) || !before.includes(end)) throw new Error(`${document}: expected ${begin} and ${end}`);
  const after = `${before.slice(0, before.indexOf(begin))}${begin}\n\n${content}\n\n${before.slice(before.indexOf(end))}`;
  writeFileSync(document, after);
}

function cacheFolder() {
  return process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache");
}
