import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type Channel, createMemoryPair, LineReader, serialize, type WireTap } from "portolan";
import { type Client, channelLink, connect, type RequestObserver, type Tap, type TapEvent } from "portolan/client";
import { createServer, serveChannel } from "portolan/server";
import { connectInMemory } from "portolan/testing";
import { expect, onTestFinished, test } from "vitest";
import { type RevisionDate, revisions } from "../kit/revisions.ts";

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const digits = { command: process.execPath, args: [at("fixtures/digits-server.mjs")] };

/** Starts the full server, which writes every line of both sides into a file. */
function recorded(): { readonly target: { command: string; args: string[] }; readonly lines: () => Line[] } {
  const folder = mkdtempSync(join(tmpdir(), "portolan-tap-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "lines.jsonl");
  const recorder = pathToFileURL(at("../kit/tap.mjs"));
  recorder.searchParams.set("stdio", file);
  const args = ["--import", recorder.href, at("../kit/serve.mjs"), at("../kit/full-server.mjs")];
  const lines = () =>
    readFileSync(file, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Line);
  return { target: { command: process.execPath, args }, lines };
}

interface Line {
  readonly from: "client" | "server";
  readonly text: string;
}

type MessageEvent = Extract<TapEvent, { kind: "message" }>;
const messagesOf = (events: readonly TapEvent[]) =>
  events.filter((event): event is MessageEvent => event.kind === "message");
const textsFrom = (messages: readonly Line[], side: Line["from"]) =>
  messages.filter(({ from }) => from === side).map(({ text }) => text);
const statesOf = (events: readonly TapEvent[]) => events.flatMap((event) => (event.kind === "link" ? event.state : []));

/** Connects with a tap that keeps all events. */
async function tapped(target: Parameters<typeof connect>[0], options: Parameters<typeof connect>[1] = {}) {
  const events: TapEvent[] = [];
  const client: Client = await connect(target, { ...options, tap: (event) => events.push(event) });
  onTestFinished(() => client.close());
  return { client, events };
}

test.each(revisions)("a tap hears every line of a process on %s, exactly and with its call", async (revision) => {
  const { target, lines } = recorded();
  const { client, events } = await tapped(target, {
    era: revision,
    answers: { elicit: () => ({ action: "accept", content: { name: "Ada" } }) },
  });
  await client.callTool("echo", { message: "grüße \u2028 🧭" }, { label: "c1" });
  await client.callTool("progress", { steps: 2 }, { label: "c2", onProgress: () => {} });
  const asks = revisions.indexOf(revision) >= revisions.indexOf("2025-06-18" satisfies RevisionDate);
  if (asks) await client.callTool("ask_name", {}, { label: "c3" });
  await client.close();
  const messages = messagesOf(events);
  expect(textsFrom(messages, "client")).toEqual(textsFrom(lines(), "client"));
  expect(textsFrom(messages, "server")).toEqual(textsFrom(lines(), "server"));
  const ofCall = (call: string) => messages.filter((event) => event.call === call).map(({ from }) => from);
  expect(ofCall("c1")).toEqual(["client", "server"]);
  expect(ofCall("c2").filter((from) => from === "server").length).toBeGreaterThanOrEqual(2);
  expect(ofCall("c3")).toEqual(asks ? ["client", "server", "client", "server"] : []);
  const times = events.map((event) => event.at);
  expect(times).toEqual([...times].sort((a, b) => a - b));
  expect(statesOf(events)).toEqual(["open", "closed"]);
});

test("a tap hears numbers that JavaScript cannot hold, with all their digits and spaces", async () => {
  const { client, events } = await tapped(digits, { era: "2025-11-25" });
  await client.callTool("big");
  expect(messagesOf(events).at(-1)?.text).toBe(
    '{"jsonrpc":"2.0", "id":2, "result":{"content":[],"structuredContent":{"n":12345678901234567890}}}',
  );
});

test("a tap hears lines of the standard error, invalid input with its reason, and each message of a batch", async () => {
  const own: string[] = [];
  const problems: string[] = [];
  const { client, events } = await tapped(
    { ...digits, onStderr: (line) => own.push(line) },
    { era: "2025-03-26", onError: ({ message }) => problems.push(message) },
  );
  await client.callTool("say", {}, { label: "said" });
  await client.close();
  expect(events.filter(({ kind }) => kind === "stderr")).toMatchObject([{ line: "said" }, { line: "unfinished" }]);
  expect(own).toEqual(["said", "unfinished"]);
  expect(events.filter(({ kind }) => kind === "invalid")).toMatchObject([
    { text: "no json at all", reason: 'expected a JSON object or array, got "no json at all"' },
    { text: '{"jsonrpc":"1.0","method":"old"}', reason: 'jsonrpc: expected "2.0", got "1.0"' },
  ]);
  expect(problems).toHaveLength(2);
  expect(messagesOf(events).slice(-2)).toMatchObject([
    { text: '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"[1,{2"}}' },
    { text: '{"jsonrpc":"2.0","id":2,"result":{"content":[]}}', call: "said" },
  ]);
});

test("a tap hears that the server is gone, and why", async () => {
  const { client, events } = await tapped(digits, { era: "stateful" });
  await expect(client.callTool("exit")).rejects.toThrow("exited with code 3");
  expect(statesOf(events)).toEqual(["open", "lost"]);
  expect(events.at(-1)).toMatchObject({ kind: "link", reason: expect.stringContaining("exited with code 3") });
});

test("a tap hears a cancellation in the name of its call", async () => {
  const { target } = recorded();
  const { client, events } = await tapped(target, { era: "2025-11-25" });
  const waiting = client.callTool("wait", { ms: 60_000 }, { label: "slow", idleMs: 50 });
  await expect(waiting).rejects.toMatchObject({ code: "timeout" });
  expect(messagesOf(events).at(-1)).toMatchObject({ from: "client", call: "slow" });
  expect(messagesOf(events).at(-1)?.text).toContain("notifications/cancelled");
});

const broken = () => {
  throw new Error("the tap is broken");
};

test.each<[string, Tap]>([
  ["throws", broken],
  ["rejects", async () => broken()],
])("a tap that %s is reported and disturbs no call", async (_, tap) => {
  const problems: string[] = [];
  await using client = await connect(digits, { tap, onError: ({ message }) => problems.push(message) });
  expect(await client.callTool("echo", { n: 1 })).toMatchObject({ structuredContent: { n: 1 } });
  expect(new Set(problems)).toEqual(new Set(["the tap is broken"]));
});

const greeter = createServer({ name: "greeter", version: "1.0.0" }).tool("greet", { run: () => "Hello" });

test.each(revisions)("a tap hears a server in the same process on %s, through channels and links", async (revision) => {
  const events: TapEvent[] = [];
  await using client = await connectInMemory(greeter, { revision, tap: (event) => events.push(event) });
  await client.callTool("greet", {}, { label: "hello" });
  const lines = messagesOf(events).map(({ from, text }) => `${from === "client" ? "→" : "←"} ${text}`);
  expect(lines).toEqual(client.transcript.lines);
  expect(messagesOf(events).filter(({ call }) => call === "hello")).toHaveLength(2);
});

test("a tap that is no function is refused before anything is started", async () => {
  const link = channelLink(() => expect.unreachable("nothing is opened"));
  await expect(connect(link, { tap: {} as never })).rejects.toThrow("tap: expected a function, got an object");
});

test("an observer beside a tap still knows how requests travel, and gets into their text", async () => {
  const kinds: string[] = [];
  const observer: RequestObserver = {
    begin({ transport }) {
      kinds.push(transport.kind);
      return { meta: { "example.com/trace": "t1" }, end: () => {} };
    },
  };
  const { client, events } = await tapped(digits, { era: "2025-11-25", observer });
  await client.callTool("echo", { n: 1 }, { label: "seen" });
  expect(kinds).toEqual(["stdio", "stdio"]);
  expect(messagesOf(events).filter(({ call }) => call === "seen")).toMatchObject([
    { from: "client", text: expect.stringContaining('"example.com/trace":"t1"') },
    { from: "server" },
  ]);
});

/** A channel of the application, which passes the messages on as lines, and may tell their text. */
function createLineChannel(channel: Channel, tells: { readonly sent: boolean; readonly received: boolean }): Channel {
  let tap: WireTap | undefined;
  let reader: LineReader;
  return {
    open(incoming) {
      tap = incoming.tap;
      const { message, batch, unreadable } = incoming;
      reader = new LineReader({ message, batch, unreadable, ...(tells.received && { tap }) });
      const push = (value: unknown) => reader.push(new TextEncoder().encode(`${JSON.stringify(value)} \n`));
      channel.open({ message: push, batch: push, unreadable, closed: (reason) => incoming.closed(reason) });
    },
    send(message) {
      if (tells.sent) tap?.sent(serialize(message));
      return channel.send(message);
    },
    close: () => channel.close(),
  };
}

test.each([true, false].flatMap((sent) => [true, false].map((received) => ({ sent, received }))))(
  "each message of a channel of one's own is heard once, whatever it tells itself: %o",
  async (tells) => {
    const events: TapEvent[] = [];
    const [near, far] = createMemoryPair();
    serveChannel(greeter, far);
    await using client = await connect(createLineChannel(near, tells), {
      era: "2025-11-25",
      tap: (event) => events.push(event),
    });
    await client.callTool("greet", {}, { label: "hello" });
    const messages = messagesOf(events);
    expect(messages.map(({ from }) => from)).toEqual(["client", "server", "client", "client", "server"]);
    expect(messages.at(-1)?.text.endsWith(" ")).toBe(tells.received);
    expect(messages.slice(-2).map(({ call }) => call)).toEqual(["hello", "hello"]);
  },
);
