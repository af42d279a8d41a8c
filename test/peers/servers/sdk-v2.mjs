// The fixture on the official SDK, version 2: one definition for both eras.
//   FIXTURE_HTTP   serves over HTTP in this mode. Default: stdio
import { completable, inputRequired, McpServer, ResourceTemplate } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";
import { serveSdkV2 } from "../http/serve-sdk-v2.mjs";
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

// The probe, the handshake and, over HTTP, every request may create a server, so the state is outside of it.
const { note, read } = createJournal();
const { wait, release } = createGate();
let ticks = 0;
let reads = 0;
let isGrown = false;
/** Notifies subscribers over HTTP without sessions. */
let notify;

const label = z.object({ label: z.string() });
const plain = { mimeType: "text/plain" };

/** Creates a handler that asks once, then uses the answer; on both eras the handler runs again from the top. */
const asking =
  (toRequest, use) =>
  (...given) => {
    const { mcpReq } = given.at(-1);
    const answer = mcpReq.inputResponses?.answer;
    return answer ? use(answer) : inputRequired({ inputRequests: { answer: toRequest(given[0]) } });
  };

async function progress({ mcpReq }, step, total) {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return;
  const params = { progressToken, progress: step, total, message: `step ${step}` };
  await mcpReq.notify({ method: "notifications/progress", params });
}

function createFixture({ era }) {
  const server = new McpServer(
    { name: "sdk-v2-fixture", version: "1.2.3" },
    { instructions, capabilities: { logging: {}, resources: { subscribe: true } } },
  );
  const subscribed = new Set();
  addTools(server);
  addChanges(server, { notify: era === "modern" ? notify : undefined, era, subscribed });
  addQuestions(server);
  addResources(server);
  addPrompts(server);
  if (era === "legacy") addStateful(server.server, subscribed);
  return server;
}

function addTools(server) {
  server.registerTool(
    "echo",
    { description: "Says it again", inputSchema: z.object({ text: z.string() }) },
    ({ text }) => toText(text),
  );
  server.registerTool(
    "add",
    { inputSchema: z.object({ a: z.number(), b: z.number() }), outputSchema: z.object({ sum: z.number() }) },
    ({ a, b }) => ({ ...toText(String(a + b)), structuredContent: { sum: a + b } }),
  );
  server.registerTool("fail", {}, () => ({ ...toText("Out of ink"), isError: true }));
  server.registerTool("mixed", {}, () => mixed);
  server.registerTool("progress", { inputSchema: z.object({ steps: z.number() }) }, async ({ steps }, context) => {
    for (let step = 1; step <= steps; step += 1) await progress(context, step, steps);
    return toText("done");
  });
  server.registerTool("slow", { inputSchema: label }, async ({ label }, context) => {
    const cancelled = runSlowly(label, context.mcpReq.signal, note);
    await progress(context, 1);
    return cancelled;
  });
  server.registerTool("journal", {}, () => toText(read()));
  server.registerTool("log", { inputSchema: label }, async ({ label }, { mcpReq }) => {
    for (const level of levels) await mcpReq.log(level, `${label} ${level}`, "fixture");
    return toText("logged");
  });
  server.registerTool("hold", {}, async (context) => {
    const released = wait();
    await progress(context, 1);
    await released;
    await progress(context, 2);
    return toText("held");
  });
  server.registerTool("release", {}, () => {
    release();
    return toText("released");
  });
  server.registerTool("detach", { inputSchema: label }, async ({ label }, { http }) => {
    const released = wait();
    http.closeSSE();
    note(`detached ${label}`);
    await released;
    return toText("you came back");
  });
}

function addChanges(server, { notify, era, subscribed }) {
  server.registerTool("tick", {}, async () => {
    ticks += 1;
    const uri = "counter://ticks";
    if (notify) notify.resourceUpdated(uri);
    else if (era === "modern" || subscribed.has(uri)) await server.server.sendResourceUpdated({ uri });
    return toText(String(ticks));
  });
  const addGrown = () => {
    server.registerTool("grown", {}, () => toText("I am new"));
    server.registerPrompt("grown", {}, () => toMessage("I am new"));
    server.registerResource("grown", "grown://new", {}, ({ href: uri }) => ({ contents: [{ uri, text: "I am new" }] }));
  };
  if (isGrown) addGrown();
  server.registerTool("grow", {}, () => {
    if (notify) {
      isGrown = true;
      notify.toolsChanged();
      notify.promptsChanged();
      notify.resourcesChanged();
    } else addGrown();
    return toText("grown");
  });
}

function addQuestions(server) {
  const form = () => inputRequired.elicit({ message: "Who are you?", requestedSchema: nameForm });
  server.registerTool("ask", {}, asking(form, toGreeting));
  const page = () => inputRequired.elicitUrl({ message: "Please allow it", url: consentUrl });
  server.registerTool("visit", {}, asking(page, toVisit));
  const question = ({ text }) => inputRequired.createMessage(toQuestion(text));
  server.registerTool("sample", { inputSchema: z.object({ text: z.string() }) }, asking(question, toSummary));
  server.registerTool("roots", {}, asking(inputRequired.listRoots, toRoots));
  server.registerTool("ask-together", {}, ({ mcpReq }) => {
    const { name, summary } = mcpReq.inputResponses ?? {};
    if (name) return toBoth(name, summary);
    return inputRequired({ inputRequests: { name: form(), summary: question({ text: "both" }) } });
  });
  server.registerTool("ask-twice", {}, ({ mcpReq }) => {
    const answer = mcpReq.inputResponses?.name;
    const first = mcpReq.requestState();
    if (answer && first !== undefined) return toPair(JSON.parse(first), answer);
    const requestState = answer && JSON.stringify(answer);
    return inputRequired({ inputRequests: { name: form() }, ...(requestState && { requestState }) });
  });
}

function addResources(server) {
  server.registerResource("hello", "text://hello", plain, ({ href: uri }) => ({
    contents: [{ uri, ...plain, text: "Hello, world" }],
  }));
  server.registerResource("pixel", "data://pixel", { mimeType: "image/png" }, ({ href: uri }) => ({
    contents: [{ uri, mimeType: "image/png", blob: pixel }],
  }));
  server.registerResource("ticks", "counter://ticks", {}, ({ href: uri }) => ({
    contents: [{ uri, text: String(ticks) }],
  }));
  server.registerResource("reads", "counter://reads", { cacheHint: { ttlMs: 3_600_000 } }, ({ href: uri }) => {
    reads += 1;
    return { contents: [{ uri, text: String(reads) }] };
  });
  server.registerResource(
    "note",
    new ResourceTemplate("note://{id}", { list: undefined, complete: { id: completeId } }),
    plain,
    ({ href: uri }, { id }) => ({ contents: [{ uri, text: `Note ${id}` }] }),
  );
}

function addPrompts(server) {
  const argsSchema = z.object({
    name: completable(z.string().describe("Whom"), completeName),
    tone: completable(z.string(), (value, context) => completeTone(value, context?.arguments?.name)).optional(),
  });
  server.registerPrompt("greet", { description: "Greets somebody", argsSchema }, greet);
}

function addStateful(server, subscribed) {
  server.setRequestHandler("resources/subscribe", ({ params }) => {
    subscribed.add(params.uri);
    note(`subscribed ${params.uri}`);
    return {};
  });
  server.setRequestHandler("resources/unsubscribe", ({ params }) => {
    subscribed.delete(params.uri);
    note(`unsubscribed ${params.uri}`);
    return {};
  });
  server.setNotificationHandler("notifications/roots/list_changed", async () => {
    const { roots } = await server.listRoots();
    note(`roots ${roots.length}`);
  });
}

const habit = process.env.FIXTURE_HTTP;
if (habit === undefined) serveStdio(createFixture);
else notify = serveSdkV2(createFixture, habit);
