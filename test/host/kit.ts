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

/** A server in this process, spoken to over its JSON text, as often as it is opened. */
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

/** A host that is closed after the test. */
export async function makeHost(options: HostOptions = {}): Promise<Host> {
  const host = await createHost(options);
  onTestFinished(() => host.close());
  return host;
}

/** A folder that is gone after the test. */
export async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "portolan-host-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** The text of a result. */
export function textOf(result: { content: readonly { type: string; text?: string }[] }): string {
  return result.content.map(({ text = "" }) => text).join("\n");
}

/** Waits for an event that fits; the reader can be read on. */
export async function eventOf<K extends HostEvent["kind"]>(
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

/** What a puppet does in one turn. */
export type Step = { say?: string; call?: [name: string, input: object][]; raw?: ModelEvent[] };

/** A model that does what it is told, turn by turn, and keeps what it was asked. */
export function puppet(
  ...steps: (Step | ((request: ModelRequest) => Step))[]
): Model & { readonly asked: ModelRequest[] } {
  const asked: ModelRequest[] = [];
  return {
    id: "puppet",
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
      yield { type: "end", stopReason: call.length > 0 ? "toolUse" : "endTurn", usage, model: "puppet" };
    },
  };
}

/** What a server of `raw` says when it is greeted. */
export const hello: JsonObject = {
  protocolVersion: "2025-11-25",
  capabilities: { tools: { listChanged: true } },
  serverInfo: { name: "raw", version: "1.0.0" },
};

/** A server that answers as a function says, message by message; `send` lets it speak unasked, and `response` is what it hears then. */
export function raw(
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

/** Everything may be called. */
export const allow: readonly Rule[] = [{ then: "allow" }];

/** A server that says hello. */
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

/** A server that counts how often it is opened. */
export function counted(
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

/** A server as a file of a project names it. */
export function written(way: CustomTarget, args: readonly string[] = ["server.js"]): ServerEntry {
  return {
    name: "s",
    way,
    written: { command: "node", args },
    settings: {},
    source: { kind: "file", file: "/p/.mcp.json", path: "mcpServers.s", product: "claude-code", scope: "project" },
  };
}

/** A storage as an object of functions, so that some can be replaced. */
export function functionsOf(kv: KeyValue): KeyValue {
  return {
    get: kv.get.bind(kv),
    set: kv.set.bind(kv),
    delete: kv.delete.bind(kv),
    list: kv.list.bind(kv),
  };
}

/** What is written down of some kinds. */
export async function entriesOf(host: Host, ...kinds: ActivityKind[]): Promise<JsonObject[]> {
  const entries: JsonObject[] = [];
  for await (const entry of host.activity.query({ kinds })) entries.push(entry as unknown as JsonObject);
  return entries;
}

/** Everything that was told before the host was closed. */
export async function toldOf(events: AsyncIterable<HostEvent>): Promise<HostEvent[]> {
  const told: HostEvent[] = [];
  for await (const event of events) told.push(event);
  return told;
}
