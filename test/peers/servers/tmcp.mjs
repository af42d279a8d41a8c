// The fixture on tmcp, which supports both eras.
//   FIXTURE_PAGE_SIZE   entries per page of a list
//   FIXTURE_HTTP        serves over HTTP. Default: stdio
import { ZodJsonSchemaAdapter } from "@tmcp/adapter-zod";
import { HttpTransport } from "@tmcp/transport-http";
import { StdioTransport } from "@tmcp/transport-stdio";
import { McpServer } from "tmcp";
import { z } from "zod";
import { listen, serveWeb } from "../http/listen.mjs";
import {
  completeId,
  completeName,
  completeTone,
  consentUrl,
  createJournal,
  greet,
  instructions,
  levels,
  mixed,
  pixel,
  runSlowly,
  toBoth,
  toGreeting,
  toMessage,
  toPair,
  toQuestion,
  toRoots,
  toSummary,
  toText,
  toVisit,
} from "./fixture.mjs";

const size = Number(process.env.FIXTURE_PAGE_SIZE);
const { note, read } = createJournal();
const server = new McpServer(
  { name: "tmcp-fixture", version: "1.2.3" },
  {
    adapter: new ZodJsonSchemaAdapter(),
    instructions,
    capabilities: {
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
      logging: {},
      completions: {},
    },
    ...(size > 0 && { pagination: { tools: { size }, prompts: { size }, resources: { size } } }),
  },
);
const label = z.object({ label: z.string() });
const nameForm = z.object({ name: z.string().meta({ title: "Name" }), size: z.enum(["s", "m", "l"]).default("m") });
const replayable = true;

server.tool({ name: "echo", description: "Says it again", schema: z.object({ text: z.string() }) }, ({ text }) =>
  toText(text),
);
server.tool(
  {
    name: "add",
    description: "Adds",
    schema: z.object({ a: z.number(), b: z.number() }),
    outputSchema: z.object({ sum: z.number() }),
  },
  ({ a, b }) => ({ ...toText(String(a + b)), structuredContent: { sum: a + b } }),
);
server.tool({ name: "fail", description: "Fails" }, () => ({ ...toText("Out of ink"), isError: true }));
server.tool({ name: "mixed", description: "All sorts" }, () => mixed);
server.tool(
  { name: "progress", description: "Goes on", schema: z.object({ steps: z.number() }) },
  async ({ steps }) => {
    for (let step = 1; step <= steps; step += 1) server.progress(step, steps, `step ${step}`);
    return toText("done");
  },
);
server.tool({ name: "slow", description: "Runs until it is cancelled", schema: label }, ({ label }) => {
  const cancelled = runSlowly(label, server.ctx.signal, note);
  server.progress(1, 1, "step 1");
  return cancelled;
});
server.tool({ name: "journal", description: "What happened" }, () => toText(read()));
server.tool({ name: "log", description: "Logs", schema: label }, ({ label }) => {
  for (const level of levels) server.log(level, `${label} ${level}`, "fixture");
  return toText("logged");
});

const elicit = () => server.elicitation("Who are you?", nameForm);
server.tool({ name: "ask", description: "Asks", replayable }, async () => toGreeting(await elicit()));
server.tool({ name: "ask-together", description: "Asks two at once", replayable }, async () =>
  toBoth(...(await Promise.all([elicit(), server.message(toQuestion("both"))]))),
);
server.tool({ name: "ask-twice", description: "Asks twice", replayable }, async () =>
  toPair(await elicit(), await elicit()),
);
server.tool({ name: "visit", description: "Asks for a visit", replayable }, async () =>
  toVisit(await server.elicitation("Please allow it", consentUrl)),
);
server.tool(
  { name: "sample", description: "Samples", schema: z.object({ text: z.string() }), replayable },
  async ({ text }) => toSummary(await server.message(toQuestion(text))),
);
server.tool({ name: "roots", description: "Asks for the roots" }, async () => {
  await server.refreshRoots();
  return toRoots(server);
});

let ticks = 0;
server.tool({ name: "tick", description: "Counts" }, () => {
  ticks += 1;
  server.changed("resource", "counter://ticks");
  return toText(String(ticks));
});
server.tool({ name: "grow", description: "Adds one of each" }, () => {
  server.tool({ name: "grown", description: "New" }, () => toText("I am new"));
  server.prompt({ name: "grown", description: "New" }, () => toMessage("I am new"));
  server.resource({ name: "grown", description: "New", uri: "grown://new" }, (uri) => ({
    contents: [{ uri, text: "I am new" }],
  }));
  return toText("grown");
});

const plain = { mimeType: "text/plain" };
server.resource({ name: "hello", description: "Hello", uri: "text://hello", ...plain }, (uri) => ({
  contents: [{ uri, ...plain, text: "Hello, world" }],
}));
server.resource({ name: "pixel", description: "A pixel", uri: "data://pixel", mimeType: "image/png" }, (uri) => ({
  contents: [{ uri, mimeType: "image/png", blob: pixel }],
}));
server.resource({ name: "ticks", description: "A count", uri: "counter://ticks" }, (uri) => ({
  contents: [{ uri, text: String(ticks) }],
}));
server.template(
  {
    name: "note",
    description: "A note",
    uri: "note://{id}",
    ...plain,
    complete: { id: (value) => ({ completion: { values: completeId(value) } }) },
  },
  (uri, { id }) => ({ contents: [{ uri, text: `Note ${id}` }] }),
);

server.prompt(
  {
    name: "greet",
    description: "Greets somebody",
    schema: z.object({ name: z.string().describe("Whom"), tone: z.string().optional() }),
    complete: {
      name: (value) => ({ completion: { values: completeName(value) } }),
      tone: (value, context) => ({ completion: { values: completeTone(value, context?.arguments?.name) } }),
    },
  },
  greet,
);

if (process.env.FIXTURE_HTTP === undefined) new StdioTransport(server).listen();
else {
  const transport = new HttpTransport(server, { path: "/mcp" });
  const respond = async (request) => (await transport.respond(request)) ?? new Response("Not found", { status: 404 });
  listen((request, response) => serveWeb(respond, request, response));
}
