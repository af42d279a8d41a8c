import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMemoryPair } from "portolan";
import {
  createHost,
  type Host,
  type HostEvent,
  type HostOptions,
  type OpenWay,
  type ServerSettings,
} from "portolan/host";
import type { Model, ModelEvent, ModelRequest } from "portolan/models";
import { type Served, serveChannel } from "portolan/server";
import { onTestFinished } from "vitest";

/** A server in this process, spoken to over its JSON text, as often as it is opened. */
export function inMemory(server: Served, settings: ServerSettings = {}): OpenWay & ServerSettings {
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
export async function makeHost(options: HostOptions): Promise<Host> {
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
