import type { Storage } from "../../../storage/storage.ts";
import type { Publication, Runtime } from "../../subscribe/hub.ts";

const topicName = "mcp/publish";

/** Everything one server says to others through one storage, however many endpoints serve it. */
interface Shared {
  endpoints: number;
  readonly stop: Promise<() => Promise<void>>;
}

const shared = new WeakMap<Runtime, Map<Storage, Shared>>();

/** Relays until what it resolves to is called; what cannot be relayed is told to the operator. */
export async function startRelay(runtime: Runtime, storage: Storage): Promise<() => Promise<void>> {
  try {
    return await relay(runtime, storage);
  } catch (cause) {
    runtime.report(cause, "publish");
    return async () => {};
  }
}

/** Hands what a server publishes to all processes that share a storage, and theirs to it, until what it returns is called. */
async function relay(runtime: Runtime, storage: Storage): Promise<() => Promise<void>> {
  const storages = shared.get(runtime) ?? new Map<Storage, Shared>();
  shared.set(runtime, storages);
  let found = storages.get(storage);
  if (!found) {
    found = { endpoints: 0, stop: begin(runtime, storage) };
    storages.set(storage, found);
  }
  const held = found;
  held.endpoints += 1;
  const stop = await held.stop;
  return async () => {
    held.endpoints -= 1;
    if (held.endpoints > 0) return;
    storages.delete(storage);
    await stop();
  };
}

async function begin(runtime: Runtime, storage: Storage): Promise<() => Promise<void>> {
  const self = crypto.randomUUID();
  const hear = (value: string) => {
    const [from, { topic, payload, audience }] = JSON.parse(value) as [string, Publication];
    if (from !== self) runtime.hub.publish(topic, payload, audience);
  };
  // What was missed is not known here: clients hear of it when they next look.
  const unsubscribe = await storage.bus.subscribe(topicName, hear, () => {});
  const tell = (publication: Publication) => {
    storage.bus
      .publish(topicName, JSON.stringify([self, publication]))
      .catch((cause) => runtime.report(cause, "publish"));
  };
  runtime.relays.add(tell);
  return async () => {
    runtime.relays.delete(tell);
    await unsubscribe();
  };
}
