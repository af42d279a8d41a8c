// The fixture on the official SDK, version 1.
//   FIXTURE_HTTP   serves over HTTP in this mode. Default: stdio
import { completable } from "@modelcontextprotocol/sdk/server/completable.js";
import { McpServer, ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import {
  RootsListChangedNotificationSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import {
  completeId,
  completeName,
  completeTone,
  consentUrl,
  createGate,
  createJournal,
  greet,
  instructions,
  levels,
  mixed,
  nameForm,
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

const { note, read } = createJournal();
const { wait, release } = createGate();
const label = { label: z.string() };
const plain = { mimeType: "text/plain" };
let ticks = 0;

function createFixture() {
  const server = new McpServer(
    { name: "sdk-v1-fixture", version: "1.2.3" },
    { instructions, capabilities: { logging: {}, resources: { subscribe: true } } },
  );

  server.registerTool("echo", { description: "Says it again", inputSchema: { text: z.string() } }, ({ text }) =>
    toText(text),
  );
  server.registerTool(
    "add",
    { inputSchema: { a: z.number(), b: z.number() }, outputSchema: { sum: z.number() } },
    ({ a, b }) => ({ ...toText(String(a + b)), structuredContent: { sum: a + b } }),
  );
  server.registerTool("fail", {}, () => ({ ...toText("Out of ink"), isError: true }));
  server.registerTool("mixed", {}, () => mixed);
  server.registerTool("progress", { inputSchema: { steps: z.number() } }, async ({ steps }, extra) => {
    for (let step = 1; step <= steps; step += 1) await progress(extra, step, steps);
    return toText("done");
  });
  server.registerTool("slow", { inputSchema: label }, async ({ label }, extra) => {
    const cancelled = runSlowly(label, extra.signal, note);
    await progress(extra, 1);
    return cancelled;
  });
  server.registerTool("journal", {}, () => toText(read()));
  server.registerTool("log", { inputSchema: label }, async ({ label }, { sessionId }) => {
    for (const level of levels) {
      await server.sendLoggingMessage({ level, data: `${label} ${level}`, logger: "fixture" }, sessionId);
    }
    return toText("logged");
  });
  server.registerTool("hold", {}, async (extra) => {
    const released = wait();
    await progress(extra, 1);
    await released;
    await progress(extra, 2);
    return toText("held");
  });
  server.registerTool("release", {}, () => {
    release();
    return toText("released");
  });
  server.registerTool("detach", { inputSchema: label }, async ({ label }, { closeSSEStream }) => {
    const released = wait();
    closeSSEStream();
    note(`detached ${label}`);
    await released;
    return toText("you came back");
  });

  const elicit = (options) =>
    server.server.elicitInput({ message: "Who are you?", requestedSchema: nameForm }, options);
  // Over HTTP these messages go on the stream of their call, the others on the stream of the session.
  server.registerTool("ask", {}, async ({ signal, requestId: relatedRequestId }) =>
    toGreeting(await elicit({ signal, relatedRequestId })),
  );
  server.registerTool("ask-together", {}, async () =>
    toBoth(...(await Promise.all([elicit(), server.server.createMessage(toQuestion("both"))]))),
  );
  server.registerTool("ask-twice", {}, async () => toPair(await elicit(), await elicit()));
  server.registerTool("visit", {}, async ({ requestId: relatedRequestId }) => {
    const question = { mode: "url", message: "Please allow it", url: consentUrl, elicitationId: "consent-1" };
    return toVisit(await server.server.elicitInput(question, { relatedRequestId }));
  });
  server.registerTool("sample", { inputSchema: { text: z.string() } }, async ({ text }) =>
    toSummary(await server.server.createMessage(toQuestion(text))),
  );
  server.registerTool("roots", {}, async () => toRoots(await server.server.listRoots()));
  server.server.setNotificationHandler(RootsListChangedNotificationSchema, async () => {
    const { roots } = await server.server.listRoots();
    note(`roots ${roots.length}`);
  });

  const subscribed = new Set();
  server.server.setRequestHandler(SubscribeRequestSchema, ({ params }) => {
    subscribed.add(params.uri);
    note(`subscribed ${params.uri}`);
    return {};
  });
  server.server.setRequestHandler(UnsubscribeRequestSchema, ({ params }) => {
    subscribed.delete(params.uri);
    note(`unsubscribed ${params.uri}`);
    return {};
  });
  server.registerTool("tick", {}, async () => {
    ticks += 1;
    const uri = "counter://ticks";
    if (subscribed.has(uri)) await server.server.sendResourceUpdated({ uri });
    return toText(String(ticks));
  });
  server.registerTool("grow", {}, () => {
    server.registerTool("grown", {}, () => toText("I am new"));
    server.registerPrompt("grown", {}, () => toMessage("I am new"));
    server.registerResource("grown", "grown://new", {}, ({ href: uri }) => ({ contents: [{ uri, text: "I am new" }] }));
    return toText("grown");
  });

  server.registerResource("hello", "text://hello", plain, ({ href: uri }) => ({
    contents: [{ uri, ...plain, text: "Hello, world" }],
  }));
  server.registerResource("pixel", "data://pixel", { mimeType: "image/png" }, ({ href: uri }) => ({
    contents: [{ uri, mimeType: "image/png", blob: pixel }],
  }));
  server.registerResource("ticks", "counter://ticks", {}, ({ href: uri }) => ({
    contents: [{ uri, text: String(ticks) }],
  }));
  server.registerResource(
    "note",
    new ResourceTemplate("note://{id}", { list: undefined, complete: { id: completeId } }),
    plain,
    ({ href: uri }, { id }) => ({ contents: [{ uri, text: `Note ${id}` }] }),
  );

  server.registerPrompt(
    "greet",
    {
      description: "Greets somebody",
      argsSchema: {
        name: completable(z.string().describe("Whom"), completeName),
        tone: completable(z.string().optional(), (value, context) => completeTone(value, context?.arguments?.name)),
      },
    },
    greet,
  );
  return server;
}

async function progress({ _meta, sendNotification }, step, total) {
  const progressToken = _meta?.progressToken;
  if (progressToken === undefined) return;
  const params = { progressToken, progress: step, total, message: `step ${step}` };
  await sendNotification({ method: "notifications/progress", params });
}

const habit = process.env.FIXTURE_HTTP;
if (habit === undefined) await createFixture().connect(new StdioServerTransport());
else {
  // Imported late, because it loads a complete web server.
  const { serveSdkV1 } = await import("../http/serve-sdk-v1.mjs");
  serveSdkV1(createFixture, habit);
}
