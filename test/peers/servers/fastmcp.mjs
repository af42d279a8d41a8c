// The fixture on fastmcp.
//   FIXTURE_HTTP   serves over HTTP, at /mcp and, with sessions, at /sse: sessions, json or sessionless. Default: stdio
//   PORT           the port
import { FastMCP, UserError } from "fastmcp";
import { z } from "zod";
import {
  completeId,
  completeName,
  consentUrl,
  createGate,
  createJournal,
  greet,
  instructions,
  mixed,
  nameForm,
  pixel,
  runSlowly,
  toBoth,
  toGreeting,
  toPair,
  toQuestion,
  toRoots,
  toSummary,
  toVisit,
} from "./fixture.mjs";

const { note, read } = createJournal();
const { wait, release } = createGate();
const quiet = { debug() {}, error() {}, info() {}, log() {}, warn() {} };
const server = new FastMCP({ name: "fastmcp-fixture", version: "1.2.3", instructions, logger: quiet });
const label = z.object({ label: z.string() });
// A session exists only some time after the handshake; notifications before that are lost.
const first = new Promise((resolve) => {
  server.once("connect", (event) => resolve(event.session));
});
const sessionOf = async ({ sessionId }) => {
  const find = () => server.sessions.find((session) => session.sessionId === sessionId);
  while (!find()) await new Promise((resolve) => server.once("connect", resolve));
  return find();
};

server.addTool({
  name: "echo",
  description: "Says it again",
  parameters: z.object({ text: z.string() }),
  execute: async ({ text }) => text,
});
server.addTool({
  name: "add",
  parameters: z.object({ a: z.number(), b: z.number() }),
  outputSchema: z.object({ sum: z.number() }),
  execute: async ({ a, b }) => ({ sum: a + b }),
});
server.addTool({
  name: "fail",
  execute: async () => {
    throw new UserError("Out of ink");
  },
});
server.addTool({ name: "mixed", execute: async () => mixed });
server.addTool({
  name: "progress",
  parameters: z.object({ steps: z.number() }),
  execute: async ({ steps }, { reportProgress }) => {
    for (let step = 1; step <= steps; step += 1) {
      await reportProgress({ progress: step, total: steps, message: `step ${step}` });
    }
    return "done";
  },
});
server.addTool({
  name: "slow",
  parameters: label,
  execute: async ({ label }, { signal, reportProgress }) => {
    const cancelled = runSlowly(label, signal, note);
    await reportProgress({ progress: 1 });
    return cancelled;
  },
});
server.addTool({ name: "journal", execute: async () => read() });
server.addTool({
  name: "hold",
  execute: async (_, { reportProgress }) => {
    const released = wait();
    await reportProgress({ progress: 1 });
    await released;
    await reportProgress({ progress: 2 });
    return "held";
  },
});
server.addTool({
  name: "release",
  execute: async () => {
    release();
    return "released";
  },
});
server.addTool({
  name: "log",
  parameters: label,
  execute: async ({ label }, { log }) => {
    log.debug(`${label} debug`);
    log.info(`${label} info`);
    log.warn(`${label} warning`);
    log.error(`${label} error`);
    return "logged";
  },
});

const question = { message: "Who are you?", requestedSchema: nameForm };
const sample = async (text, context) => (await sessionOf(context)).requestSampling(toQuestion(text));
server.addTool({
  name: "ask",
  execute: async (_, { elicit, signal }) => toGreeting(await elicit(question, { signal })),
});
server.addTool({
  name: "ask-together",
  execute: async (_, context) => toBoth(...(await Promise.all([context.elicit(question), sample("both", context)]))),
});
server.addTool({
  name: "ask-twice",
  execute: async (_, { elicit }) => toPair(await elicit(question), await elicit(question)),
});
server.addTool({
  name: "visit",
  execute: async (_, { elicit }) =>
    toVisit(await elicit({ mode: "url", message: "Please allow it", url: consentUrl, elicitationId: "consent-1" })),
});
server.addTool({
  name: "sample",
  parameters: z.object({ text: z.string() }),
  execute: async ({ text }, context) => toSummary(await sample(text, context)),
});
server.addTool({
  name: "roots",
  execute: async (_, context) => toRoots(await (await sessionOf(context)).server.listRoots()),
});

let ticks = 0;
server.addTool({
  name: "tick",
  execute: async () => {
    ticks += 1;
    await first;
    await server.sendResourceUpdated("counter://ticks");
    return String(ticks);
  },
});
server.addTool({
  name: "grow",
  execute: async () => {
    await first;
    server.addTool({ name: "grown", execute: async () => "I am new" });
    server.addPrompt({ name: "grown", load: async () => "I am new" });
    server.addResource({ name: "grown", uri: "grown://new", load: async () => ({ text: "I am new" }) });
    return "grown";
  },
});

server.addResource({
  name: "hello",
  uri: "text://hello",
  mimeType: "text/plain",
  load: async () => ({ text: "Hello, world" }),
});
server.addResource({
  name: "pixel",
  uri: "data://pixel",
  mimeType: "image/png",
  load: async () => ({ blob: pixel }),
});
server.addResource({ name: "ticks", uri: "counter://ticks", load: async () => ({ text: String(ticks) }) });
server.addResourceTemplate({
  name: "note",
  uriTemplate: "note://{id}",
  mimeType: "text/plain",
  arguments: [{ name: "id", required: true, complete: async (value) => ({ values: completeId(value) }) }],
  load: async ({ id }) => ({ text: `Note ${id}` }),
});

server.addPrompt({
  name: "greet",
  description: "Greets somebody",
  arguments: [
    {
      name: "name",
      description: "Whom",
      required: true,
      complete: async (value) => ({ values: completeName(value) }),
    },
    { name: "tone", complete: async () => ({ values: [] }) },
  ],
  load: async (args) => greet(args),
});

const { FIXTURE_HTTP: habit, PORT: port } = process.env;
if (habit === undefined) await server.start({ transportType: "stdio" });
else {
  const stateless = habit === "sessionless";
  const enableJsonResponse = habit === "json";
  const httpStream = { host: "127.0.0.1", port: Number(port), endpoint: "/mcp", stateless, enableJsonResponse };
  await server.start({ transportType: "httpStream", httpStream });
  process.stdout.write(`http://127.0.0.1:${port}/mcp\n`);
}
