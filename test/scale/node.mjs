// One node of the scale tests: serves the tools of the histories over HTTP, with its sessions in Redis. Started by
// nodes.ts, which says by messages what to publish, what to measure and when to close.
import { openSync, readdirSync, writeSync } from "node:fs";
import { createServer } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { createRedisStorage } from "portolan/storage/redis";
import { createClient } from "redis";

const { name, redisPort, journal, serve, graceMs = 10_000 } = JSON.parse(process.env["SCALE_NODE"] ?? "{}");
// Written at once, so that what a killed node did is known all the same.
const file = openSync(journal, "a");
const note = (call, what) => writeSync(file, `${JSON.stringify({ at: Date.now(), node: name, call, what })}\n`);
const report = (error) => {
  const { message, cause } = error instanceof Error ? error : { message: String(error) };
  note("", `error: ${message}${cause instanceof Error ? ` (${cause.message})` : ""}`);
};

const input = {
  type: "object",
  properties: { call: { type: "string" }, steps: { type: "integer" }, stepMs: { type: "integer" } },
  required: ["call"],
};
const form = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };

/** Runs a handler, and notes its beginning and its end. */
const noted = (run) => async (args, context) => {
  const { call } = args;
  note(call, "started");
  try {
    const more = await run(args, context);
    note(call, "finished");
    return JSON.stringify({ call, owner: context.principal.key, ...more });
  } catch (error) {
    note(call, context.signal.aborted ? "aborted" : `stopped: ${error?.name}`);
    throw error;
  }
};

const pause = (ms, signal) =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    const abort = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
  });

const definition = createServer({ name: "scale", version: "1.0.0" }, { onError: report })
  .tool("echo", { input, run: noted(() => ({})) })
  .tool("work", {
    description: "Reports progress in steps",
    input,
    run: noted(async ({ steps, stepMs }, context) => {
      for (let step = 1; step <= steps; step += 1) {
        context.progress(step, steps);
        await pause(stepMs, context.signal);
      }
      return {};
    }),
  })
  .tool("ask", {
    description: "Asks the client for a name",
    input,
    run: noted(async ({ call }, context) => {
      const { content } = await context.elicit("who", { message: `Who is ${call}?`, form });
      return { answer: content?.name };
    }),
  })
  .tool("hold", {
    description: "Runs until it is cancelled",
    input,
    run: noted((_, { signal }) => pause(2 ** 30, signal)),
  })
  .template("note://{+path}", { name: "note", subscribe: true, read: () => "a note" });

const storage = createRedisStorage(createClient({ url: `redis://127.0.0.1:${redisPort}` }), { onError: report });
const verify = (request) => ({ key: request.header("authorization") ?? "nobody" });
const serving = serveHttp(definition, { ...serve, storage, verify, instances: 3 });
const { port } = await serving.listen(0);

process.on("message", async ({ id, publish, measure, close, ping }) => {
  if (ping) process.send({ id, ping });
  if (publish !== undefined) {
    const at = Date.now();
    definition.publish("resources/updated", { uri: publish });
    // Commands keep their order: once this one is answered, Redis has passed the publication on.
    const isPassedOn = await storage.bus.publish("scale/after", "").then(
      () => true,
      () => false,
    );
    process.send({ id, at, isPassedOn });
  }
  if (measure) {
    globalThis.gc?.();
    const { heapUsed, rss } = process.memoryUsage();
    process.send({ id, heapUsed, rss, descriptors: readdirSync("/proc/self/fd").length });
  }
  if (close !== undefined) await end(close);
});
process.once("SIGTERM", () => end(graceMs));
// The test was killed.
process.once("disconnect", () => isEnding || process.exit(1));

let isEnding = false;
async function end(ms) {
  isEnding = true;
  let step = "the server closes";
  const explain = () => note("", `does not end: ${step}; ${process.getActiveResourcesInfo().join(", ")}`);
  setTimeout(explain, ms + 12_000).unref();
  await serving.close(ms);
  step = "the storage closes";
  await storage.close();
  step = "all is closed";
  // Without timers and sockets that were left open, the process ends now.
  if (process.connected) process.disconnect();
}

note("", `serves port ${port}`);
process.send({ port });
