import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMemoryPair, type JsonObject, type Message } from "portolan";
import { createServer, type Servable, serveChannel } from "portolan/server";
import type { KeyValue } from "portolan/storage";
import {
  type ActivityKind,
  type CustomTarget,
  createHost,
  type Host,
  type HostEvent,
  type HostOptions,
  type Rule,
  type ServerEntry,
  type ServerSettings,
} from "portolan-host";
import type { Model, ModelEvent, ModelRequest } from "portolan-host/models";
import { onTestFinished } from "vitest";

/** Returns a target for a server in this process; messages are serialized, and each `open` makes a new connection. */
export function inMemory(server: Servable, settings: ServerSettings = {}): CustomTarget & ServerSettings {
  return {
    ...settings,
    open() {
      const [near, far] = createMemoryPair({ serialize: true });
      serveChannel(server, far);
      return near;
    },
  };
}

/** Creates a host that is closed after the test. */
export async function makeHost(options: HostOptions = {}): Promise<Host> {
  const host = await createHost(options);
  onTestFinished(() => host.close());
  return host;
}

/** Creates a folder that is removed after the test. */
export async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "portolan-host-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Returns the text of a result. */
export function textOf(result: { content: readonly { type: string; text?: string }[] }): string {
  return result.content.map(({ text = "" }) => text).join("\n");
}

/** Resolves with the next event of a kind that fits; later events stay in the iterator. */
export async function nextEvent<K extends HostEvent["kind"]>(
  events: AsyncIterator<HostEvent>,
  kind: K,
  fits: (event: Extract<HostEvent, { kind: K }>) => boolean = () => true,
): Promise<Extract<HostEvent, { kind: K }>> {
  for (;;) {
    const { value, done } = await events.next();
    if (done) throw new Error(`no event of the kind ${kind}`);
    if (value.kind === kind && fits(value as Extract<HostEvent, { kind: K }>)) {
      return value as Extract<HostEvent, { kind: K }>;
    }
  }
}

/** One turn of a scripted model. */
export type Step = { say?: string; call?: [name: string, input: object][]; raw?: ModelEvent[] };

/** Creates a model that plays the given turns, and records the requests in `asked`. */
export function createModel(
  ...steps: (Step | ((request: ModelRequest) => Step))[]
): Model & { readonly asked: ModelRequest[] } {
  const asked: ModelRequest[] = [];
  return {
    id: "scripted",
    capabilities: { tools: true, images: true, contextTokens: 20_000 },
    asked,
    async *stream(request) {
      const next = steps[asked.length];
      asked.push(request);
      const { say, call = [], raw = [] } = typeof next === "function" ? next(request) : (next ?? { say: "done" });
      if (say !== undefined) yield { type: "text", delta: say };
      yield* raw;
      for (const [at, [name, input]] of call.entries()) {
        yield { type: "tool", id: `t${asked.length}.${at}`, name, input: input as { [name: string]: unknown } };
      }
      const usage = { inputTokens: 10, outputTokens: 5 };
      yield { type: "end", stopReason: call.length > 0 ? "toolUse" : "endTurn", usage, model: "scripted" };
    },
  };
}

/** The initialize result of a raw server. */
export const initializeResult: JsonObject = {
  protocolVersion: "2025-11-25",
  capabilities: { tools: { listChanged: true } },
  serverInfo: { name: "raw", version: "1.0.0" },
};

/**
 * Returns a target whose server is one function per message. With `send` the server sends its own messages; their
 * responses arrive as the method `response`.
 */
export function rawServer(
  answer: (
    method: string,
    params: JsonObject,
    send: (message: Message) => void,
  ) => JsonObject | undefined | Promise<JsonObject | undefined>,
): CustomTarget & ServerSettings {
  return {
    era: "2025-11-25",
    open() {
      const [near, far] = createMemoryPair({ serialize: true });
      const send = (message: Message) => void far.send(message);
      far.open({
        async message(message: Message) {
          if (!("method" in message)) return void answer("response", message as unknown as JsonObject, send);
          if (!("id" in message)) return void answer(message.method, {}, send);
          const { id, method, params = {} } = message;
          const result = await answer(method, params as JsonObject, send);
          if (result) send({ jsonrpc: "2.0", id, result });
        },
        batch() {},
        unreadable() {},
        closed() {},
      });
      return near;
    },
  };
}

/** A policy that allows every call. */
export const allow: readonly Rule[] = [{ then: "allow" }];

/** Creates a server with one tool that returns "hello". */
export function greeter({
  description = "Says hello",
  instructions,
}: {
  description?: string;
  instructions?: string;
} = {}) {
  const options = instructions === undefined ? {} : { instructions };
  const server = createServer({ name: "greeter", version: "1.0.0" }, options);
  return server.tool("greet", { description, run: () => "hello" });
}

/** Returns a target that counts in `starts` how often it is opened. */
export function countStarts(
  server: Servable = greeter(),
  settings: ServerSettings = {},
): CustomTarget & ServerSettings & { starts: number } {
  const way = inMemory(server, settings);
  const made = {
    ...settings,
    starts: 0,
    open() {
      made.starts += 1;
      return way.open();
    },
  };
  return made;
}

/** Returns a server entry as if read from a project's configuration file. */
export function entryFromFile(way: CustomTarget, args: readonly string[] = ["server.js"]): ServerEntry {
  return {
    name: "s",
    target: way,
    configured: { command: "node", args },
    settings: {},
    source: { kind: "file", file: "/p/.mcp.json", path: "mcpServers.s", product: "claude-code", scope: "project" },
  };
}

/** Returns a storage as an object of functions, so that a test can replace some. */
export function functionsOf(kv: KeyValue): KeyValue {
  return {
    get: kv.get.bind(kv),
    set: kv.set.bind(kv),
    delete: kv.delete.bind(kv),
    list: kv.list.bind(kv),
  };
}

/** Returns the activity entries of some kinds. */
export async function activityEntries(host: Host, ...kinds: ActivityKind[]): Promise<JsonObject[]> {
  const entries: JsonObject[] = [];
  for await (const entry of host.activity.query({ kinds })) entries.push(entry as unknown as JsonObject);
  return entries;
}

/** Returns all events until the host is closed. */
export async function collectEvents(events: AsyncIterable<HostEvent>): Promise<HostEvent[]> {
  const told: HostEvent[] = [];
  for await (const event of events) told.push(event);
  return told;
}
