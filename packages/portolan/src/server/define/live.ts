import type { Audience, Topics } from "../subscribe/hub.ts";
import { Runtime } from "../subscribe/runtime.ts";
import { expectFunction } from "./check.ts";
import { publishOn, type Served, type Server, servedBy, snapshotOf } from "./server.ts";
import type { Snapshot } from "./snapshot.ts";

/** A server whose features change while it is served. */
export interface LiveServer<App = undefined> extends Served {
  readonly current: Server<App>;
  /** Replaces the definition; clients are told once of each list that changed, however often it did in one turn. */
  update(change: (current: Server<App>) => Server<App>): void;
  publish<T extends keyof Topics>(topic: T, payload: Topics[T], audience?: Audience): void;
}

/** Makes a server that may change: requests that run keep the definition they began with. */
export function live<App>(server: Server<App>): LiveServer<App> {
  let current = server;
  const runtime = new Runtime(snapshotOf(server, true));
  let announced: Snapshot | undefined;
  const announce = () => {
    const before = announced;
    announced = undefined;
    if (before) for (const topic of changedLists(before, runtime.snapshot)) runtime.hub.publish(topic, {});
  };
  return servedBy(
    {
      get current() {
        return current;
      },
      update(change: (current: Server<App>) => Server<App>) {
        expectFunction("update", change, "invalid-argument");
        const next = change(current);
        const before = runtime.snapshot;
        runtime.snapshot = snapshotOf(next, true);
        current = next;
        if (announced) return;
        announced = before;
        queueMicrotask(announce);
      },
      publish<T extends keyof Topics>(topic: T, payload: Topics[T], audience?: Audience) {
        publishOn(runtime, topic, payload, audience);
      },
    },
    runtime,
  );
}

function changedLists(before: Snapshot, after: Snapshot): string[] {
  const differ = (a: readonly object[], b: readonly object[]) =>
    a.length !== b.length || a.some((feature, index) => feature !== b[index]);
  const topics: string[] = [];
  if (differ(before.parts.tools, after.parts.tools)) topics.push("tools/list_changed");
  if (differ(before.parts.prompts, after.parts.prompts)) topics.push("prompts/list_changed");
  const resources = differ(before.parts.resources, after.parts.resources);
  if (resources || differ(before.parts.templates, after.parts.templates)) topics.push("resources/list_changed");
  return topics;
}
