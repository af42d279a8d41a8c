import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { type Channel, type Incoming, type JsonObject, LineReader, serialize } from "portolan";
import { serveChannel } from "portolan/server";
import { afterAll, expect, test } from "vitest";
import createFullServer from "./kit/full-server.mjs";
import { ChildChannel, metaKey } from "./kit/raw-peer.ts";
import { stateful } from "./kit/revisions.ts";

/** Something that takes bytes and gives lines: a server behind its framing. */
interface Wire {
  write(bytes: Uint8Array): void;
  /** Every message that came, oldest first; what is no JSON fails the test. */
  readonly received: JsonObject[];
  /** Resolves when more has come, or the other side is gone. */
  changed(): Promise<void>;
  readonly isGone: boolean;
}

const encoder = new TextEncoder();

/** Calls back for each line of JSON that arrives. */
function createInbox() {
  const received: JsonObject[] = [];
  let watchers: (() => void)[] = [];
  return {
    received,
    take(text: string) {
      const value = JSON.parse(text);
      received.push(...(Array.isArray(value) ? value : [value]));
      this.wake();
    },
    wake() {
      for (const wake of watchers.splice(0)) wake();
    },
    changed: () => new Promise<void>((resolve) => watchers.push(resolve)),
  };
}

/** The framing and the server in this process. */
function openMemory(): Wire {
  const inbox = createInbox();
  let reader: LineReader | undefined;
  const channel: Channel = {
    open(incoming: Incoming) {
      reader = new LineReader(incoming, { maxBytes: 200_000 });
    },
    send: (message) => inbox.take(serialize(message)),
    close: async () => {},
  };
  serveChannel(createFullServer(), channel);
  return { write: (bytes) => reader?.push(bytes), received: inbox.received, changed: inbox.changed, isGone: false };
}

/** A real process. */
function openStdio(): Wire & { readonly channel: ChildChannel } {
  const inbox = createInbox();
  const kit = (name: string) => fileURLToPath(new URL(`./kit/${name}`, import.meta.url));
  const channel = new ChildChannel(process.execPath, [kit("serve.mjs"), kit("full-server.mjs")], { MAX_MESSAGE_BYTES: "200000" });
  let rest = "";
  channel.child.stdout.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) inbox.take(line);
  });
  channel.child.on("exit", () => inbox.wake());
  return {
    channel,
    write: (bytes) => channel.write(bytes),
    received: inbox.received,
    changed: inbox.changed,
    get isGone() {
      return channel.child.exitCode !== null;
    },
  };
}

const wires: { stdio?: ReturnType<typeof openStdio> } = {};

afterAll(() => wires.stdio?.channel.close());

const statelessMeta = { [metaKey("protocolVersion")]: "2026-07-28", [metaKey("clientCapabilities")]: { roots: {}, elicitation: {} } };

/** Requests as clients of all revisions send them. All of them end by themselves. */
const requests: JsonObject[] = [
  ...stateful.map((protocolVersion) => ({
    method: "initialize",
    params: { protocolVersion, capabilities: { roots: {}, elicitation: {}, sampling: {} }, clientInfo: { name: "fuzz", version: "1" } },
  })),
  { method: "ping" },
  { method: "logging/setLevel", params: { level: "debug" } },
  { method: "resources/subscribe", params: { uri: "note://a" } },
  ...[undefined, statelessMeta].flatMap((_meta) =>
    [
      { method: "server/discover", params: {} },
      { method: "tools/list", params: { cursor: "WyIiLCJhZGQiXQ" } },
      { method: "tools/call", params: { name: "add", arguments: { a: 1, b: 2 } } },
      { method: "tools/call", params: { name: "echo", arguments: { message: "héllo" } } },
      { method: "tools/call", params: { name: "who", arguments: {} } },
      { method: "tools/call", params: { name: "ask_roots" } },
      { method: "tools/call", params: { name: "ask_two", inputResponses: { a: { action: "accept" } }, requestState: "x.y" } },
      { method: "tools/call", params: { name: "progress", arguments: { steps: 2 } } },
      { method: "resources/list", params: {} },
      { method: "resources/read", params: { uri: "page://alpha/1" } },
      { method: "prompts/get", params: { name: "greet", arguments: { who: "Ada" } } },
      { method: "completion/complete", params: { ref: { type: "ref/resource", uri: "page://{book}/{number}" }, argument: { name: "book", value: "a" } } },
      { method: "example.com/double", params: { value: 2 } },
    ].map(({ method, params }) => ({ method, params: { ...params, _meta: { ..._meta, progressToken: "p" } } })),
  ),
];

const deepMark = "@deep@";
const deepText = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;

const oddValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom<unknown>(null, true, -1, 0, 1.5, 2 ** 53, 1e300, "", "x".repeat(5_000), [], {}, [[[]]], deepMark, "\u0000", "\ud800", "2099-01-01") },
  { weight: 1, arbitrary: fc.constantFrom<unknown>(JSON.parse('{"__proto__":{"x":1}}'), { toString: 1, valueOf: 1 }, { length: 5 }, "__proto__", "constructor", "io.modelcontextprotocol/x") },
  { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
);

interface Mutation {
  steps: number[];
  value: unknown;
  how: "replace" | "delete" | "add";
}

const mutation: fc.Arbitrary<Mutation> = fc.record({
  steps: fc.array(fc.nat(20), { minLength: 1, maxLength: 5 }),
  value: oddValue,
  how: fc.constantFrom("replace", "delete", "add"),
});

/** A copy with one member, found by walking down, replaced, left out or added. */
function mutate(target: unknown, { steps: [step = 0, ...rest], value, how }: Mutation): unknown {
  if (typeof target !== "object" || target === null) return value;
  const keys = Object.keys(target);
  const key = keys[step % Math.max(keys.length, 1)];
  if (key === undefined) return value;
  const entries = Object.entries(target);
  const next = entries.flatMap(([name, inner]): [string, unknown][] => {
    if (name !== key) return [[name, inner]];
    if (rest.length > 0) return [[name, mutate(inner, { steps: rest, value, how })]];
    if (how === "delete") return [];
    return how === "add" ? [[name, inner], [`${name}2`, value]] : [[name, value]];
  });
  return Array.isArray(target) ? next.map(([, inner]) => inner) : Object.fromEntries(next);
}

/** What one line holds, before it gets an id of its own. */
type Line =
  | { kind: "request"; base: JsonObject; mutations: Mutation[]; id: unknown }
  | { kind: "batch"; members: { base: JsonObject; mutations: Mutation[] }[] }
  | { kind: "cancel"; back: number }
  | { kind: "reply"; id: unknown; body: JsonObject }
  | { kind: "cut"; base: JsonObject; keep: number }
  | { kind: "json"; value: unknown }
  | { kind: "bytes"; bytes: Uint8Array };

const base = fc.constantFrom(...requests);
const ownId = Symbol("an id that no other line has");

const line: fc.Arbitrary<Line> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("request"), base, mutations: fc.array(mutation, { maxLength: 2 }), id: fc.oneof({ weight: 5, arbitrary: fc.constant(ownId) }, { weight: 1, arbitrary: fc.constantFrom<unknown>(0, "", "0", -7, null, 1.5, 2 ** 60, {}, "x".repeat(300)) }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("batch"), members: fc.array(fc.record({ base, mutations: fc.array(mutation, { maxLength: 1 }) }), { maxLength: 4 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("cancel"), back: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("reply"), id: fc.constantFrom<unknown>(0, 1, "0", null), body: fc.constantFrom<JsonObject>({ result: {} }, { result: 5 }, { error: { code: 1, message: "no" } }, { error: null }, { result: {}, error: {} }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("cut"), base, keep: fc.nat(60) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("json"), value: fc.jsonValue({ maxDepth: 4 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("bytes"), bytes: fc.uint8Array({ maxLength: 60 }) }) },
) as fc.Arbitrary<Line>;

const script = fc.record({ lines: fc.array(line, { maxLength: 25 }), cuts: fc.array(fc.nat(100_000), { maxLength: 30 }), crlf: fc.boolean() });

/** How often an id must and may be answered. */
class Expected {
  readonly #least = new Map<unknown, number>();
  readonly #most = new Map<unknown, number>();
  /** Ids whose answers come together or not at all. */
  readonly together: unknown[][] = [];

  exactly(id: unknown): void {
    this.#least.set(id, this.least(id) + 1);
    this.maybe(id);
  }

  maybe(id: unknown): void {
    this.#most.set(id, (this.#most.get(id) ?? 0) + 1);
  }

  /** An id that was cancelled need not be answered. */
  release(id: unknown): void {
    this.#least.delete(id);
  }

  least(id: unknown): number {
    return this.#least.get(id) ?? 0;
  }

  isMet(counts: Map<unknown, number>): boolean {
    return [...this.#least].every(([id, least]) => (counts.get(id) ?? 0) >= least);
  }

  check(counts: Map<unknown, number>): void {
    for (const [id, least] of this.#least) expect(counts.get(id) ?? 0, `answers to ${JSON.stringify(id)}`).toBeGreaterThanOrEqual(least);
    for (const [id, count] of counts) expect(count, `answers to ${JSON.stringify(id)}`).toBeLessThanOrEqual(this.#most.get(id) ?? 0);
    for (const ids of this.together) expect(new Set(ids.map((id) => counts.get(id) ?? 0)).size).toBeLessThanOrEqual(1);
  }
}

function isId(value: unknown): boolean {
  return typeof value === "string" || Number.isSafeInteger(value);
}

/** Notes what a parsed line, in whatever state it is, must lead to. */
function expectFor(value: unknown, expected: Expected): void {
  if (Array.isArray(value)) {
    for (const member of value) if (isId(member?.id)) expected.maybe(member.id);
    return;
  }
  if (typeof value !== "object" || value === null) return;
  const { jsonrpc, id, method, params, result, error } = value as JsonObject;
  if (!isId(id)) return;
  const isRequest = jsonrpc === "2.0" && typeof method === "string" && (params === undefined || (typeof params === "object" && params !== null));
  if (isRequest && method === "subscriptions/listen") expected.maybe(id);
  else if (isRequest || (result === undefined && error === undefined)) expected.exactly(id);
}

let runs = 0;

/** Turns a script into bytes, and says what must come back. */
function toBytes({ lines, crlf }: { lines: Line[]; crlf: boolean }): { bytes: Uint8Array; expected: Expected } {
  const expected = new Expected();
  const run = (runs += 1);
  const cancelled: unknown[] = [];
  const ids: unknown[] = [];
  const chunks: Uint8Array[] = [];
  const newId = () => {
    const id = ids.length % 2 === 0 ? `${run}.${ids.length}` : run * 10_000 + ids.length;
    ids.push(id);
    return id;
  };
  const build = (request: JsonObject, mutations: Mutation[], id: unknown) =>
    mutations.reduce<unknown>(mutate, { jsonrpc: "2.0", id, ...request });
  const text = (value: unknown) => JSON.stringify(value).replaceAll(`"${deepMark}"`, deepText);
  const say = (content: string) => {
    chunks.push(encoder.encode(content));
    expectFor(JSON.parse(content), expected);
  };
  for (const item of lines) {
    if (item.kind === "request") say(text(build(item.base, item.mutations, item.id === ownId ? newId() : item.id)));
    else if (item.kind === "batch") {
      const values = item.members.map(({ base: request, mutations }) => build(request, mutations, newId()));
      const content = text(values);
      say(content);
      const members = JSON.parse(content) as JsonObject[];
      const group = members.map((member) => member?.["id"]);
      if (group.every((id) => ids.includes(id))) expected.together.push(group);
    } else if (item.kind === "cancel") {
      const requestId = ids.at(-1 - item.back);
      cancelled.push(requestId);
      say(text({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } }));
    } else if (item.kind === "reply") say(text({ jsonrpc: "2.0", id: item.id, ...item.body }));
    else if (item.kind === "json") say(text(item.value));
    else if (item.kind === "cut") {
      const id = newId();
      const head = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},`;
      chunks.push(encoder.encode(head + JSON.stringify(item.base).slice(1, 1 + item.keep)));
      expected.exactly(id);
    } else {
      // Bytes that happen to be JSON are judged like any other line.
      for (const piece of splitLines(item.bytes)) {
        chunks.push(piece, encoder.encode("\n"));
        const value = parse(piece);
        if (value !== undefined) expectFor(value, expected);
      }
    }
    chunks.push(encoder.encode(crlf ? "\r\n" : "\n"));
  }
  for (const id of cancelled) expected.release(id);
  for (const group of expected.together.splice(0)) if (!group.some((id) => cancelled.includes(id))) expected.together.push(group);
  return { bytes: Buffer.concat(chunks), expected };
}

function splitLines(bytes: Uint8Array): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  let start = 0;
  for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, start)) {
    pieces.push(bytes.subarray(start, end));
    start = end + 1;
  }
  return [...pieces, bytes.subarray(start)];
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    return undefined;
  }
}

/** Writes in pieces, cut anywhere. */
function writeCut(wire: Wire, bytes: Uint8Array, cuts: number[]): void {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  let start = 0;
  for (const end of [...places, bytes.length]) {
    if (end > start) wire.write(bytes.slice(start, end));
    start = end;
  }
}

const patienceMs = 10_000;

/** Waits for a condition; fails when the server is gone or keeps silent. */
async function until(wire: Wire, condition: () => boolean, what: string): Promise<void> {
  let isLate = false;
  let wake = () => {};
  const late = new Promise<void>((resolve) => {
    wake = resolve;
  });
  const timer = setTimeout(() => {
    isLate = true;
    wake();
  }, patienceMs);
  try {
    while (!condition()) {
      if (wire.isGone) throw new Error("the server is gone");
      if (isLate) throw new Error(`still waiting for ${what}`);
      await Promise.race([wire.changed(), late]);
    }
  } finally {
    clearTimeout(timer);
  }
}

async function play(wire: Wire, input: { lines: Line[]; cuts: number[]; crlf: boolean }): Promise<void> {
  const { bytes, expected } = toBytes(input);
  const start = wire.received.length;
  let refused = start;
  const counts = () => {
    const found = new Map<unknown, number>();
    for (const message of wire.received.slice(start)) {
      if (message["method"] === undefined && isId(message["id"])) found.set(message["id"], (found.get(message["id"]) ?? 0) + 1);
    }
    return found;
  };
  /** Refuses every question, so that no call waits for us. */
  const refuse = () => {
    for (; refused < wire.received.length; refused += 1) {
      const { id, method } = wire.received[refused] ?? {};
      if (method === undefined || id === undefined) continue;
      wire.write(encoder.encode(`${JSON.stringify({ jsonrpc: "2.0", id, error: { code: 1, message: "no" } })}\n`));
    }
  };
  writeCut(wire, bytes, input.cuts);
  await until(wire, () => (refuse(), expected.isMet(counts())), "answers");
  const valid = [`${runs} stateless`, `${runs} stateful`];
  const params = { name: "echo", arguments: { message: "still here" } };
  const calls = [
    { jsonrpc: "2.0", id: valid[0], method: "tools/call", params: { ...params, _meta: statelessMeta } },
    { jsonrpc: "2.0", id: `${runs} init`, method: "initialize", params: requests[0]?.["params"] },
    { jsonrpc: "2.0", id: valid[1], method: "tools/call", params },
  ];
  wire.write(encoder.encode(calls.map((call) => `${JSON.stringify(call)}\n`).join("")));
  for (const call of calls) expected.exactly(call.id);
  await until(wire, () => (refuse(), expected.isMet(counts())), "answers to valid requests");
  expected.check(counts());
  for (const id of valid) {
    const answer = wire.received.findLast((message) => message["id"] === id);
    expect(answer).toMatchObject({ result: { content: [{ type: "text", text: "still here" }] } });
  }
  for (const message of wire.received.slice(start)) expect(message["jsonrpc"]).toBe("2.0");
}

test("no sequence of messages stops a server in this process, and every request is answered once", async () => {
  await fc.assert(
    fc.asyncProperty(script, (input) => play(openMemory(), input)),
    { numRuns: 300, interruptAfterTimeLimit: 45_000 },
  );
});

test("no sequence of messages stops a server process, and every request is answered once", async () => {
  const wire = openStdio();
  wires.stdio = wire;
  await fc.assert(
    fc.asyncProperty(script, (input) => play(wire, input)),
    { numRuns: 60, interruptAfterTimeLimit: 45_000 },
  );
  expect(wire.channel.stderr).toBe("");
});

test("random bytes never stop the framing, and the next line is read", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 400 }), { maxLength: 20 }), async (chunks) => {
      const wire = openMemory();
      for (const chunk of chunks) wire.write(chunk);
      wire.write(encoder.encode('\n{"jsonrpc":"2.0","id":"after","method":"ping"}\n'));
      await until(wire, () => wire.received.some(({ id }) => id === "after"), "the ping");
      expect(wire.received.filter(({ id }) => id === "after")).toHaveLength(1);
    }),
    { numRuns: 300 },
  );
});
