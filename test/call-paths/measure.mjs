// Prints, as JSON, which source files have a function that runs during one warm call, and how many functions run, path by
// path.
//   node --import tsx test/call-paths/measure.mjs      with TSX_TSCONFIG_PATH=tsconfig.sources.json
// V8 counts the calls of every function; files of packages/*/src with a count above zero are on the path.
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { connect } from "portolan/client";
import { createServer } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { serveStdio } from "portolan/server/stdio";
import { createHost, openActivityFile } from "portolan-host";

const self = fileURLToPath(import.meta.url);
const root = join(dirname(self), "../..");
const inspector = new Session();
inspector.connect();

/**
 * Runs a call some times and returns the files that ran, and the number of functions, of the run with the fewest: on a
 * busy machine a timer of an earlier call may fire meanwhile.
 */
async function pathOf(call) {
  let fewest;
  for (let round = 0; round < 5; round++) {
    await startCounting();
    await call();
    const counted = await stopCounting();
    if (!fewest || counted.functions < fewest.functions) fewest = counted;
  }
  return fewest;
}

async function startCounting() {
  await inspector.post("Profiler.enable");
  await inspector.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  await inspector.post("Profiler.takePreciseCoverage");
}

async function stopCounting() {
  const { result } = await inspector.post("Profiler.takePreciseCoverage");
  await inspector.post("Profiler.stopPreciseCoverage");
  const files = [];
  let count = 0;
  for (const { url, functions } of result) {
    if (!url.startsWith("file:")) continue;
    const file = relative(root, fileURLToPath(url.split("?")[0]));
    if (!/^packages\/[^/]+\/src\//.test(file)) continue;
    const ran = functions.filter(isOurs).length;
    if (ran > 0) files.push(file);
    count += ran;
  }
  return { files: files.sort(), functions: count };
}

/** Whether a function ran that the author wrote: neither a module's own body nor a helper of the compiler. */
function isOurs({ functionName, ranges: [range] }) {
  if (range.count === 0 || functionName === "__name" || functionName.startsWith("<static")) return false;
  return functionName !== "" || range.startOffset > 0;
}

/** A server loads its remaining parts two seconds after its start. */
const isWarm = new Promise((resolve) => setTimeout(resolve, 3_000));

const server = createServer({ name: "paths", version: "1.0.0" })
  .tool("add", {
    input: { type: "object", properties: { a: { type: "number" } }, required: ["a"] },
    run: ({ a }) => String(a + 1),
  })
  .tool("greet", {
    async run(_, ctx) {
      const form = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
      const { content } = await ctx.elicit("name", { message: "Who?", form });
      return `Hello ${content?.name}`;
    },
  });

if (process.argv[2] === "serve") {
  const report = process.argv[3];
  const counted = server
    .tool("start", {
      async run() {
        await isWarm;
        await startCounting();
      },
    })
    .tool("stop", { run: async () => writeFileSync(report, JSON.stringify(await stopCounting())) });
  serveStdio(counted);
} else if (process.argv[2] === "serve-http") {
  const { url } = await serveHttp(server).listen(0);
  process.send?.(url);
  process.on("disconnect", () => process.exit(0));
} else {
  const folder = mkdtempSync(join(tmpdir(), "portolan-paths-"));
  // HTTP comes last: its timers run on for a while, and would be counted with the others.
  const measured = {
    ...(await overStdio(folder)),
    ...(await inHost(folder)),
    ...(await toHttp()),
    ...(await overHttp()),
  };
  console.log(JSON.stringify(measured));
  rmSync(folder, { recursive: true, force: true });
  process.exit(0);
}

async function overHttp() {
  const endpoint = serveHttp(server);
  const { url } = await endpoint.listen(0);
  const send = async (name, args, capabilities, more) => {
    const version = "2026-07-28";
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": version,
      "io.modelcontextprotocol/clientInfo": { name: "paths", version: "1.0.0" },
      "io.modelcontextprotocol/clientCapabilities": capabilities,
    };
    const params = { name, arguments: args, _meta, ...more };
    const response = await fetch(url, {
      method: "POST",
      headers: {
        ...{ "content-type": "application/json", accept: "application/json, text/event-stream" },
        ...{ "mcp-protocol-version": version, "mcp-method": "tools/call", "mcp-name": name },
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
    });
    return (await response.json()).result;
  };
  const call = () => send("add", { a: 1 }, {});
  const elicit = async () => {
    const capabilities = { elicitation: { form: {} } };
    const { inputRequests, requestState } = await send("greet", {}, capabilities);
    const [key] = Object.keys(inputRequests);
    const inputResponses = { [key]: { action: "accept", content: { name: "Ada" } } };
    await send("greet", {}, capabilities, { requestState, inputResponses });
  };
  await call();
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  for (let round = 0; round < 3; round++) await call();
  const statelessHttp = await pathOf(call);
  for (let round = 0; round < 3; round++) await elicit();
  const elicitation = await pathOf(elicit);
  await endpoint.close(100);
  return { statelessHttp, elicitation };
}

/** The client's half: the server runs in another process. */
async function toHttp() {
  const child = fork(self, ["serve-http"], { cwd: root });
  const [url] = await once(child, "message");
  const client = await connect(url);
  const call = () => client.callTool("add", { a: 1 });
  for (let round = 0; round < 3; round++) await call();
  const clientHttpCall = await pathOf(call);
  await client.close();
  child.disconnect();
  return { clientHttpCall };
}

function command(...args) {
  const env = { TSX_TSCONFIG_PATH: process.env.TSX_TSCONFIG_PATH ?? "" };
  return { command: process.execPath, args: [...process.execArgv, self, "serve", ...args], cwd: root, env };
}

async function overStdio(folder) {
  const report = join(folder, "server.json");
  const client = await connect(command(report), { era: "stateful" });
  for (let round = 0; round < 3; round++) await client.callTool("add", { a: 1 });
  await client.callTool("start", {});
  const clientCall = await pathOf(() => client.callTool("add", { a: 1 }));
  await client.callTool("stop", {});
  await client.close();
  return { clientCall, statefulStdio: JSON.parse(readFileSync(report, "utf8")) };
}

async function inHost(folder) {
  const file = join(folder, "activity.ndjson");
  const host = await createHost({
    activity: await openActivityFile(file),
    servers: { paths: command(join(folder, "unused.json")) },
    policy: [{ then: "ask" }],
    answers: { trust: () => ({ allow: true, for: "always" }), approve: () => true },
  });
  // The log is written in the background: the call is over when the file has grown and stays as it is.
  const sizeOf = () => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  const call = async () => {
    const before = sizeOf();
    await host.callTool("paths", "add", { a: 1 });
    for (let last = -1; last !== sizeOf() || last === before; ) {
      last = sizeOf();
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
  };
  for (let round = 0; round < 3; round++) await call();
  const hostCall = await pathOf(call);
  await host.close();
  return { hostCall };
}
