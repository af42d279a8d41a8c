import type { Storage } from "../../../storage/storage.ts";
import { reportedStorage } from "../../reported-storage.ts";
import type { ServerRuntime } from "../../runtime.ts";
import type { Publication } from "../../subscribe/hub.ts";

const topicName = "mcp/publish";

/** The relay between one server and one storage, which all endpoints of the server share. */
interface SharedRelay {
  endpoints: number;
  readonly stop: Promise<() => Promise<void>>;
}

const relays = new WeakMap<ServerRuntime, Map<Storage, SharedRelay>>();

/**
 * Hands the publications of a server to all processes that share a storage, and theirs to the server. Resolves to the
 * function that stops it. Reports a failure instead of rejecting.
 */
export async function startRelay(runtime: ServerRuntime, storage: Storage): Promise<() => Promise<void>> {
  try {
    return await shareRelay(runtime, storage);
  } catch (cause) {
    relays.get(runtime)?.delete(storage);
    runtime.report(cause, { method: "publish" });
    return async () => {};
  }
}

async function shareRelay(runtime: ServerRuntime, storage: Storage): Promise<() => Promise<void>> {
  const storages = relays.get(runtime) ?? new Map<Storage, SharedRelay>();
  relays.set(runtime, storages);
  let found = storages.get(storage);
  if (!found) {
    found = { endpoints: 0, stop: begin(runtime, reportedStorage(runtime, storage)) };
    storages.set(storage, found);
  }
  const shared = found;
  shared.endpoints += 1;
  const stop = await shared.stop;
  return async () => {
    shared.endpoints -= 1;
    if (shared.endpoints > 0) return;
    storages.delete(storage);
    // Not awaited by more than the grace of the endpoint, and no reason for closing to fail.
    await stop().catch((cause) => runtime.report(cause, { method: "publish" }));
  };
}

async function begin(runtime: ServerRuntime, storage: Storage): Promise<() => Promise<void>> {
  const self = crypto.randomUUID();
  const receive = (value: string) => {
    const [from, { topic, payload, audience }] = JSON.parse(value) as [string, Publication];
    if (from !== self) runtime.hub.publish(topic, payload, audience);
  };
  const unsubscribe = await storage.bus.subscribe(topicName, receive, () => tellAllChanged(runtime));
  const relay = (publication: Publication) => {
    storage.bus
      .publish(topicName, JSON.stringify([self, publication]))
      .catch((cause) => runtime.report(cause, { method: "publish" }));
  };
  runtime.relays.add(relay);
  return async () => {
    runtime.relays.delete(relay);
    // A storage that fails must not keep the server from closing.
    await unsubscribe().catch((cause) => runtime.report(cause, { method: "publish" }));
  };
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
