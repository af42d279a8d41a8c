// The fixture on fastmcp.
import { FastMCP, UserError } from "fastmcp";
import { z } from "zod";
import {
  completeId,
  completeName,
  consentUrl,
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
const quiet = { debug() {}, error() {}, info() {}, log() {}, warn() {} };
const server = new FastMCP({ name: "fastmcp-fixture", version: "1.2.3", instructions, logger: quiet });
const label = z.object({ label: z.string() });
// There is no session until a while after the handshake; what is announced before is lost.
const session = new Promise((resolve) => {
  server.once("connect", (event) => resolve(event.session));
});

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
const sample = async (text) => (await session).requestSampling(toQuestion(text));
server.addTool({
  name: "ask",
  execute: async (_, { elicit, signal }) => toGreeting(await elicit(question, { signal })),
});
server.addTool({
  name: "ask-together",
  execute: async (_, { elicit }) => toBoth(...(await Promise.all([elicit(question), sample("both")]))),
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
  execute: async ({ text }) => toSummary(await sample(text)),
});
server.addTool({ name: "roots", execute: async () => toRoots(await (await session).server.listRoots()) });

let ticks = 0;
server.addTool({
  name: "tick",
  execute: async () => {
    ticks += 1;
    await session;
    await server.sendResourceUpdated("counter://ticks");
    return String(ticks);
  },
});
server.addTool({
  name: "grow",
  execute: async () => {
    await session;
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

await server.start({ transportType: "stdio" });
