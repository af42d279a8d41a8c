import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { build } from "rolldown";
import { HttpServer } from "../driver/http-server.mjs";
import { having, implementations, installed, programOf } from "../implementations.mjs";

// Optional packages of fastmcp that are not installed.
const optional = ["effect", "sury", "arktype", "@valibot/to-json-schema"];

/**
 * A one-tool server and a client that makes one call, over stdio and over HTTP, min + gzip, without the schema library;
 * mcp-lite's server over stdio is its fetch handler. Modules behind `import()` are counted separately: the first row of
 * each is what the program loads to do its work, the second all that it may load.
 */
export async function run({ notes }) {
  return [
    ...(await sizes("a one-tool server", installed(), notes, ({ name, folder }) =>
      // The program of mcp-lite is a handler that serves nothing by itself.
      serverProgram(
        join(folder, name === "portolan" ? "one-zod-tool.mjs" : "one-tool.mjs"),
        name !== "mcp-lite" && overStdio,
      ),
    )),
    ...(await sizes("a one-call client", having("one-call"), notes, ({ name }) =>
      clientProgram(programOf(name, "one-call"), programOf("raw", "stdio")),
    )),
    ...(await sizes("a one-tool HTTP server", having("one-tool-http"), notes, ({ name }) =>
      // The program of raw listens on a port of its own choice, and loads nothing late.
      serverProgram(programOf(name, "one-tool-http"), name !== "raw" && overPort),
    )),
    ...(await overHttp((url) =>
      sizes("a one-call HTTP client", having("one-call-http"), notes, ({ name }) =>
        clientProgram(programOf(name, "one-call-http"), url),
      ),
    )),
  ];
}

async function clientProgram(entry, server) {
  return { entry, isNeeded: isAmong(await loadedByClient(entry, server)) };
}

async function serverProgram(entry, call) {
  return { entry, isNeeded: call ? isAmong(await loadedByServer(entry, call)) : () => false };
}

const isAmong = (loaded) => (file) => loaded.has(pathToFileURL(file).href);

async function overHttp(work) {
  const server = new HttpServer(implementations.find(({ name }) => name === "raw"));
  try {
    return await work(await server.url());
  } finally {
    await server.close();
  }
}

async function sizes(what, measured, notes, programFor) {
  const atStart = {};
  const inAll = {};
  for (const implementation of measured) {
    try {
      const { entry, isNeeded } = await programFor(implementation);
      atStart[implementation.name] = { value: (await bundleSize(entry, [leaveForLater(isNeeded)])) / 1000 };
      inAll[implementation.name] = { value: (await bundleSize(entry, [])) / 1000 };
    } catch (error) {
      notes.push(`${implementation.name}, ${what}: ${reasonOf(error)}`);
    }
  }
  return [
    { metric: `size of ${what}, min + gz`, unit: "KB", shown: "value", cells: atStart },
    { metric: `size of ${what}, with all it may load later`, unit: "KB", shown: "value", cells: inAll },
  ];
}

const reasonOf = ({ message }) => (message.split("\n").find((line) => line.includes("Error")) ?? message).slice(0, 200);

const leaveForLater = (isNeeded) => ({
  name: "leave-for-later",
  async resolveDynamicImport(specifier, importer) {
    const found = typeof specifier === "string" ? await this.resolve(specifier, importer) : null;
    return found && isNeeded(found.id) ? found : false;
  },
});

/** The addresses of all modules that a client loads to connect to the raw server and make its call. */
function loadedByClient(program, server) {
  return loadedDuring(async (env) => {
    const { stdout } = await promisify(execFile)(process.execPath, [program, server], { env, timeout: 30_000 });
    if (stdout !== "hello\n") throw new Error(`Error: the call was answered with ${stdout}`);
  });
}

/** The addresses of all modules that a server loads to answer one call. */
function loadedByServer(program, call) {
  return loadedDuring(async (env) => {
    // Node writes what it loaded when it exits by itself, not when a signal ends it.
    const exitOnSignal = "data:text/javascript,process.on('SIGTERM',()=>process.exit(0))";
    const child = spawn(process.execPath, ["--import", exitOnSignal, program], {
      ...{ env, timeout: 30_000, stdio: ["pipe", "pipe", "ignore"] },
    });
    const ended = once(child, "exit");
    try {
      await call(child);
    } finally {
      child.kill("SIGTERM");
      await ended;
    }
  });
}

async function loadedDuring(work) {
  const directory = mkdtempSync(join(tmpdir(), "portolan-bench-"));
  try {
    await work({ ...process.env, NODE_V8_COVERAGE: directory });
    // Other processes may leave reports too; they load nothing of the measured implementation.
    const reports = readdirSync(directory).map((file) => JSON.parse(readFileSync(join(directory, file), "utf8")));
    return new Set(reports.flatMap(({ result }) => result.map(({ url }) => url)));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

const stateless = "2026-07-28";
const info = { name: "bench", version: "1.0.0" };
const statelessCall = {
  ...{ jsonrpc: "2.0", id: 1, method: "tools/call" },
  params: {
    ...{ name: "echo", arguments: { message: "hello" } },
    _meta: {
      "io.modelcontextprotocol/protocolVersion": stateless,
      "io.modelcontextprotocol/clientInfo": info,
      "io.modelcontextprotocol/clientCapabilities": {},
    },
  },
};
const handshake = {
  ...{ jsonrpc: "2.0", id: 2, method: "initialize" },
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: info },
};
const initialized = { jsonrpc: "2.0", method: "notifications/initialized" };
const statefulCall = { ...statelessCall, id: 3, params: { name: "echo", arguments: { message: "hello" } } };
const isAnswered = (text) => text.includes("hello") && !text.includes('"error"');

/** Makes a stateless call over stdio; servers that do not know it get a handshake first. */
async function overStdio({ stdin, stdout }) {
  const lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
  const ask = async (message) => {
    stdin.write(`${JSON.stringify(message)}\n`);
    return (await lines.next()).value ?? "";
  };
  if (isAnswered(await ask(statelessCall))) return;
  await ask(handshake);
  stdin.write(`${JSON.stringify(initialized)}\n`);
  const answer = await ask(statefulCall);
  if (!isAnswered(answer)) throw new Error(`Error: the call was answered with ${answer}`);
}

/** The same over HTTP, at the port that all one-tool programs have. */
async function overPort() {
  const post = async (message, headers = {}) => {
    const response = await fetchWhenUp("http://127.0.0.1:3000/mcp", {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
      body: JSON.stringify(message),
    });
    return { text: await response.text(), session: response.headers.get("mcp-session-id") };
  };
  const mirrored = { "mcp-protocol-version": stateless, "mcp-method": "tools/call", "mcp-name": "echo" };
  if (isAnswered((await post(statelessCall, mirrored)).text)) return;
  const { session } = await post(handshake);
  const known = { "mcp-protocol-version": "2025-06-18", ...(session && { "mcp-session-id": session }) };
  await post(initialized, known);
  const { text } = await post(statefulCall, known);
  if (!isAnswered(text)) throw new Error(`Error: the call was answered with ${text}`);
}

async function fetchWhenUp(url, init) {
  for (let attempt = 0; ; attempt++) {
    try {
      return await fetch(url, { ...init, signal: AbortSignal.timeout(10_000) });
    } catch (error) {
      if (attempt === 60) throw error;
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
  }
}

async function bundleSize(input, plugins) {
  const bundled = await build({
    input,
    plugins,
    platform: "node",
    external: ["zod", /^zod\//, ...optional],
    output: { format: "esm", minify: true, codeSplitting: false },
    write: false,
    logLevel: "silent",
  });
  return gzipSync(bundled.output.map(({ code }) => code).join(""), { level: 9 }).length;
}
