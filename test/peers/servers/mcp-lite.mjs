// The fixture on mcp-lite, which serves only over HTTP and has no completion, logging, roots or subscriptions.
//   FIXTURE_HTTP   its mode: sessions or sessionless
import { InMemoryClientRequestAdapter, InMemorySessionAdapter, McpServer, StreamableHttpTransport } from "mcp-lite";
import { z } from "zod";
import { listen, serveWeb } from "../http/listen.mjs";
import {
  createGate,
  createJournal,
  greet,
  mixed,
  nameForm,
  pixel,
  runSlowly,
  toBoth,
  toGreeting,
  toMessage,
  toPair,
  toQuestion,
  toSummary,
  toText,
} from "./fixture.mjs";

const { note, read } = createJournal();
const { wait, release } = createGate();
const server = new McpServer({
  name: "mcp-lite-fixture",
  version: "1.2.3",
  schemaAdapter: (schema) => z.toJSONSchema(schema),
});
const label = z.object({ label: z.string() });

server.tool("echo", {
  description: "Says it again",
  inputSchema: z.object({ text: z.string() }),
  handler: ({ text }) => toText(text),
});
server.tool("add", {
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  outputSchema: z.object({ sum: z.number() }),
  handler: ({ a, b }) => ({ ...toText(String(a + b)), structuredContent: { sum: a + b } }),
});
server.tool("fail", { handler: () => ({ ...toText("Out of ink"), isError: true }) });
server.tool("mixed", { handler: () => mixed });
server.tool("progress", {
  inputSchema: z.object({ steps: z.number() }),
  handler: async ({ steps }, context) => {
    for (let step = 1; step <= steps; step += 1) await progress(context, step, steps);
    return toText("done");
  },
});
server.tool("slow", {
  inputSchema: label,
  handler: async ({ label }, context) => {
    const cancelled = runSlowly(label, undefined, note);
    await progress(context, 1);
    return cancelled;
  },
});
server.tool("journal", { handler: () => toText(read()) });
server.tool("hold", {
  handler: async (_, context) => {
    const released = wait();
    await progress(context, 1);
    await released;
    await progress(context, 2);
    return toText("held");
  },
});
server.tool("release", {
  handler: () => {
    release();
    return toText("released");
  },
});

const elicit = (context) => context.elicit({ message: "Who are you?", schema: nameForm });
const sample = (context, text) => {
  const { messages, systemPrompt, maxTokens } = toQuestion(text);
  return context.sample({ prompt: messages[0].content.text, systemPrompt, maxTokens });
};
server.tool("ask", { handler: async (_, context) => toGreeting(await elicit(context)) });
server.tool("ask-together", {
  handler: async (_, context) => toBoth(...(await Promise.all([elicit(context), sample(context, "both")]))),
});
server.tool("ask-twice", { handler: async (_, context) => toPair(await elicit(context), await elicit(context)) });
server.tool("sample", {
  inputSchema: z.object({ text: z.string() }),
  handler: async ({ text }, context) => toSummary(await sample(context, text)),
});

let ticks = 0;
server.tool("tick", {
  handler: () => {
    ticks += 1;
    return toText(String(ticks));
  },
});
server.tool("grow", {
  handler: () => {
    server.tool("grown", { handler: () => toText("I am new") });
    server.prompt("grown", { handler: () => toMessage("I am new") });
    server.resource("grown://new", { name: "grown" }, async ({ href: uri }) => ({
      contents: [{ uri, text: "I am new" }],
    }));
    return toText("grown");
  },
});

const plain = { mimeType: "text/plain" };
server.resource("text://hello", { name: "hello", ...plain }, async ({ href: uri }) => ({
  contents: [{ uri, ...plain, text: "Hello, world" }],
}));
server.resource("data://pixel", { name: "pixel", mimeType: "image/png" }, async ({ href: uri }) => ({
  contents: [{ uri, mimeType: "image/png", blob: pixel }],
}));
server.resource("counter://ticks", { name: "ticks" }, async ({ href: uri }) => ({
  contents: [{ uri, text: String(ticks) }],
}));
server.resource("note://{id}", { name: "note", ...plain }, async ({ href: uri }, { id }) => ({
  contents: [{ uri, text: `Note ${id}` }],
}));

server.prompt("greet", {
  description: "Greets somebody",
  arguments: z.object({ name: z.string().describe("Whom"), tone: z.string().optional() }),
  handler: greet,
});

async function progress(context, step, total) {
  await context.progress?.({ progress: step, total, message: `step ${step}` });
}

const transport = new StreamableHttpTransport(
  process.env.FIXTURE_HTTP === "sessions"
    ? {
        sessionAdapter: new InMemorySessionAdapter({ maxEventBufferSize: 1024 }),
        clientRequestAdapter: new InMemoryClientRequestAdapter(),
      }
    : {},
);
const handle = transport.bind(server);
listen((request, response) => serveWeb(handle, request, response));
