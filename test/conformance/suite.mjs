// @ts-check
// Runs scenarios of the official conformance suite, and evaluates them more strictly than the suite does.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** @typedef {import("./suite.d.mts").Verdict} Verdict */
/** @typedef {import("./suite.d.mts").Check} Check */

const here = fileURLToPath(new URL(".", import.meta.url));
const runtime = join(here, "runtime/node_modules");
/** The suite needs a newer Node than ours; only the suite may run on it. */
export const suiteNode = join(runtime, "node/bin/node");
const ourClient = `"${process.execPath}" "${join(here, "client.mjs")}"`;
const suiteScript = join(runtime, "@modelcontextprotocol/conformance/dist/index.js");
/** Compiling the suite takes longer than most of its scenarios. */
const compiled = join(here, "../../node_modules/.cache/portolan-conformance");

/** Scenarios that measure time, which a busy machine may disturb: one successful attempt is enough. */
const timed = new Set(["sse-retry", "server-stateless"]);
const attempts = 3;

/** @type {import("./suite.d.mts").Expected} */
export const expected = JSON.parse(readFileSync(join(here, "scenarios.json"), "utf8"));

/** @type {import("./suite.d.mts").Exceptions} */
export const exceptions = JSON.parse(readFileSync(join(here, "exceptions.json"), "utf8"));

/** @type {import("./suite.d.mts").Unversioned} */
export const unversioned = JSON.parse(readFileSync(join(here, "unversioned.json"), "utf8"));

/** @type {typeof import("./suite.d.mts").listScenarios} */
export async function listScenarios() {
  const { output } = await runSuite(["list", "--server", "--client"]);
  /** @type {import("./suite.d.mts").Expected} */
  const listed = {};
  let side = /** @type {import("./suite.d.mts").Side} */ ("server");
  for (const line of output.split("\n")) {
    if (line.startsWith("Client scenarios")) side = "client";
    const [, scenario = "", tags = ""] = /^ {2}- (\S+) \[(.*)\]$/.exec(line) ?? [];
    for (const revision of tags.match(/\d{4}-\d\d-\d\d/g) ?? []) {
      listed[revision] ??= { server: [], client: [] };
      listed[revision][side].push(scenario);
    }
  }
  return listed;
}

/** @type {typeof import("./suite.d.mts").listUnversioned} */
export async function listUnversioned() {
  const { output } = await runSuite(["list", "--client"]);
  const { output: servers } = await runSuite(["list", "--server"]);
  const { output: authority } = await runSuite(["list", "--authorization"]);
  return {
    extensions: [...output.matchAll(/^ {2}- (\S+) \[extension\]$/gm)].map(([, name = ""]) => name),
    servers: [...servers.matchAll(/^ {2}- (\S+) \[extension\]$/gm)].map(([, name = ""]) => name),
    authority: [...authority.matchAll(/^ {2}- (\S+) \[.*\]$/gm)].map(([, name = ""]) => name),
  };
}

/** @type {typeof import("./suite.d.mts").startServer} */
export async function startServer(script = join(here, "server.mjs")) {
  const child = spawn(process.execPath, [script], {
    env: { ...process.env, PORT: "0" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "close");
  let printed = "";
  const close = async () => {
    child.kill();
    await exited;
  };
  for await (const text of child.stdout.setEncoding("utf8")) {
    printed += text;
    const url = /(http:\S+).*\n/.exec(printed)?.[1];
    if (url !== undefined) return { url, printed, close };
  }
  const [code] = await exited;
  throw new Error(`${script} exited with code ${code} before it served: ${printed}`);
}

/** @type {typeof import("./suite.d.mts").judgeServer} */
export async function judgeServer(url, revision) {
  const verdicts = await judgeScenarios(url, revision, ["--suite", "all"]);
  for (const scenario of timed) {
    const hasFailed = () => verdicts.get(scenario)?.passed === false;
    for (let again = 1; again < attempts && hasFailed(); again += 1) {
      for (const entry of await judgeScenarios(url, revision, ["--scenario", scenario])) verdicts.set(...entry);
    }
  }
  return verdicts;
}

/** @type {typeof import("./suite.d.mts").judgeExtensions} */
export async function judgeExtensions(url) {
  const verdicts = new Map();
  for (const scenario of unversioned.servers) {
    // The suite runs scenarios of extensions on request only, and then on a revision that we name.
    const which = ["--scenario", scenario, "--force"];
    for (const entry of await judgeScenarios(url, "2026-07-28", which)) verdicts.set(...entry);
  }
  return verdicts;
}

/** @param {string} url @param {string} revision @param {string[]} which */
function judgeScenarios(url, revision, which) {
  return inFolder(async (folder) => {
    const { output } = await runSuite(["server", "--url", url, ...which, "--spec-version", revision, "-o", folder]);
    const judged = findChecks(folder).map(({ name, checks }) => [name.replace(/^server-/, ""), judge(checks)]);
    if (judged.length === 0) throw new Error(`The suite returned no checks: ${output}`);
    return new Map(/** @type {[string, Verdict][]} */ (judged));
  });
}

/** @type {typeof import("./suite.d.mts").judgeAuthority} */
export function judgeAuthority(issuer) {
  return inFolder(async (folder) => {
    const flags = ["--client-id", "conformance", "--resource", `${issuer}/mcp`, "--port", await freePort()];
    const { output } = await runSuite(["authorization", "--url", issuer, ...flags, "-o", folder], (printed) => {
      const page = new RegExp(`^${issuer}/\\S+$`, "m").exec(printed)?.[0];
      if (page !== undefined) signIn(page);
      return page !== undefined;
    });
    const judged = findChecks(folder).map(({ name, checks }) => [
      name.replace("authorization-server-", ""),
      judge(checks),
    ]);
    if (judged.length === 0) throw new Error(`The suite returned no checks: ${output}`);
    return new Map(/** @type {[string, Verdict][]} */ (judged));
  });
}

/** Follows the redirects of an authorization server that shows no pages, with its cookies. @param {string} page */
async function signIn(page) {
  const cookies = new Map();
  for (let url = page, hops = 0; hops < 20; hops += 1) {
    const cookie = [...cookies].map((pair) => pair.join("=")).join("; ");
    const response = await fetch(url, { redirect: "manual", headers: { cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    const next = response.headers.get("location");
    if (next === null) return;
    url = new URL(next, url).href;
  }
}

/** Finds a free port, which the suite needs as an argument. @returns {Promise<string>} */
async function freePort() {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const address = probe.address();
  await once(probe.close(), "close");
  return String(typeof address === "object" ? address?.port : address);
}

/** @type {typeof import("./suite.d.mts").judgeClient} */
export async function judgeClient(scenario, revision, command = ourClient) {
  let verdict = await judgeRun(scenario, revision, command);
  for (let again = 1; again < attempts && timed.has(scenario) && !verdict.passed; again += 1) {
    verdict = await judgeRun(scenario, revision, command);
  }
  return verdict;
}

/** @param {string} scenario @param {string} revision @param {string} command */
function judgeRun(scenario, revision, command) {
  return inFolder(async (folder) => {
    // Extensions belong to no revision: the suite chooses one for authorization, and runs the others only when forced.
    const isForced = revision === "extensions" && !scenario.startsWith("auth/");
    const forced = isForced ? ["--spec-version", "2026-07-28", "--force"] : [];
    const version = revision === "extensions" ? forced : ["--spec-version", revision];
    const args = ["client", "--command", command, "--scenario", scenario, ...version, "-o", folder];
    const { code, output } = await runSuite(args);
    const [found] = findChecks(folder);
    if (found === undefined) throw new Error(`The suite returned no checks: ${output}`);
    const printed = readFileSync(join(folder, found.at, "stdout.txt"), "utf8");
    const verdict = judge(found.checks);
    // The exit code of the suite adds one thing: whether a client crashed or timed out.
    if (code === 0 || !verdict.passed) return { ...verdict, printed };
    return { passed: false, why: output.slice(output.lastIndexOf("Test Results:")), printed };
  });
}

/** @type {typeof import("./suite.d.mts").deviationOf} */
export function deviationOf(verdict, exception) {
  if (verdict === undefined) return "the suite has not run it";
  if (verdict.passed) return exception && `passes although it is listed in exceptions.json: ${exception}`;
  return exception === undefined ? verdict.why : undefined;
}

/** @type {typeof import("./suite.d.mts").judge} */
export function judge(checks) {
  const bad = checks.filter(({ status }) => status === "FAILURE" || status === "WARNING");
  const own = checks.filter(({ id }) => !id.startsWith("wire-schema"));
  if (bad.length === 0 && own.some(({ status }) => status === "SUCCESS")) return { passed: true, why: "" };
  const why = bad.map(({ id, status, errorMessage }) => `${status} ${id}: ${errorMessage ?? "no reason given"}`);
  return { passed: false, why: why.join("\n") || "nothing succeeded" };
}

/** Returns the checks of each scenario that wrote any. @param {string} folder */
function findChecks(folder) {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return files.flatMap((file) => {
    const name = /^(.+)-\d{4}-\d\d-\d\dT[\d-]+Z[/\\]checks\.json$/.exec(file)?.[1];
    if (name === undefined) return [];
    const checks = /** @type {Check[]} */ (JSON.parse(readFileSync(join(folder, file), "utf8")));
    return [{ name, at: dirname(file), checks }];
  });
}

/** @template T @param {(folder: string) => Promise<T>} use @returns {Promise<T>} */
async function inFolder(use) {
  const folder = mkdtempSync(join(tmpdir(), "portolan-conformance-"));
  try {
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * @param {string[]} args
 * @param {(printed: string) => boolean} [onOutput] gets the output so far, until it returns true
 * @returns {Promise<{ code: number | null, output: string }>}
 */
function runSuite(args, onOutput) {
  const child = spawn(suiteNode, [suiteScript, ...args], {
    env: { ...process.env, NODE_COMPILE_CACHE: compiled },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      output += text;
      if (onOutput?.(output)) onOutput = undefined;
    });
  }
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, output }));
  });
}
