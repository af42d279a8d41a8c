import type { Storage } from "../../../storage/storage.ts";
import { reportedStorage } from "../../reported-storage.ts";
import type { ServerRuntime } from "../../runtime.ts";
import type { Publication } from "../../subscribe/hub.ts";
import type { EndpointState } from "../endpoint.ts";
import { defaultSessionIdleMs, sharedSessionShare } from "../limits.ts";
import type { SessionOptions } from "../options.ts";
import { register } from "./register.ts";
import { SharedUse } from "./shared-use.ts";

const topicName = "mcp/publish";

/** The tie between one server and the processes that share its storage. All endpoints of the server use it. */
interface Membership {
  endpoints: number;
  readonly stop: Promise<() => Promise<void>>;
}

const memberships = new WeakMap<ServerRuntime, Map<Storage, Membership>>();

/**
 * Joins the processes that share a storage: publications of the server reach them, and theirs the server; the use of
 * callers is counted in all of them. Resolves to the function that leaves them. Rejects if the other processes cannot work
 * with this one; a storage that fails is reported.
 */
export async function joinProcesses(
  state: EndpointState,
  storage: Storage,
  { idleMs = defaultSessionIdleMs }: SessionOptions,
): Promise<() => Promise<void>> {
  try {
    return await join(state, storage, idleMs * sharedSessionShare);
  } catch (cause) {
    if (!state.isListening) state.runtime.report(cause);
    throw cause;
  }
}

async function join(
  { runtime, callers }: EndpointState,
  storage: Storage,
  sessionMs: number,
): Promise<() => Promise<void>> {
  const { kv } = reportedStorage(runtime, storage);
  const across = new SharedUse(kv, {
    limits: callers.limits,
    sessionMs,
    report: (cause, about) => void runtime.report(cause, about),
  });
  callers.across = across;
  const storages = memberships.get(runtime) ?? new Map<Storage, Membership>();
  memberships.set(runtime, storages);
  let found = storages.get(storage);
  if (!found) {
    found = { endpoints: 0, stop: begin(runtime, reportedStorage(runtime, storage)) };
    storages.set(storage, found);
    found.stop.catch(() => storages.delete(storage));
  }
  const shared = found;
  shared.endpoints += 1;
  const stop = await shared.stop;
  return async () => {
    across.close();
    shared.endpoints -= 1;
    if (shared.endpoints > 0) return;
    storages.delete(storage);
    // Not awaited by more than the grace of the endpoint, and no reason for closing to fail.
    await stop().catch((cause) => runtime.report(cause, { method: "publish" }));
  };
}

async function begin(runtime: ServerRuntime, storage: Storage): Promise<() => Promise<void>> {
  const leave = await register(runtime, storage);
  // Not awaited: a storage that hangs must not keep the server from listening.
  const relaying = startRelay(runtime, storage);
  return async () => {
    await Promise.all([leave(), relaying.then((stop) => stop())]);
  };
}

async function startRelay(runtime: ServerRuntime, storage: Storage): Promise<() => Promise<void>> {
  const self = crypto.randomUUID();
  const receive = (value: string) => {
    const [from, { topic, payload, audience }] = JSON.parse(value) as [string, Publication];
    if (from !== self) runtime.hub.publish(topic, payload, audience);
  };
  const relay = (publication: Publication) => {
    storage.bus
      .publish(topicName, JSON.stringify([self, publication]))
      .catch((cause) => runtime.report(cause, { method: "publish" }));
  };
  try {
    const unsubscribe = await storage.bus.subscribe(topicName, receive, () => tellAllChanged(runtime));
    runtime.relays.add(relay);
    return async () => {
      runtime.relays.delete(relay);
      await unsubscribe();
    };
  } catch (cause) {
    runtime.report(cause, { method: "publish" });
    return async () => {};
  }
}

/** Tells every listener once that all it listens to may have changed, because publications of other processes are missing. */
function tellAllChanged({ hub, snapshot }: ServerRuntime): void {
  const { isLive, listsTemplates, offered } = snapshot;
  if (isLive && offered.tools) hub.publish("tools/list_changed", {});
  if (isLive && offered.prompts) hub.publish("prompts/list_changed", {});
  if ((isLive || listsTemplates) && offered.resources) hub.publish("resources/list_changed", {});
  for (const [uri, listener] of hub.subscribers?.all() ?? []) {
    try {
      listener.deliver("resources/updated", { uri });
    } catch (error) {
      hub.report(error);
    }
  }
}
