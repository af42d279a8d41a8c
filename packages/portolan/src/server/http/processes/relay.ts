import { PortolanError } from "../../../errors.ts";
import type { Storage } from "../../../storage/storage.ts";
import { StoredKeySealer } from "../../../storage/stored-keys.ts";
import { reportedStorage } from "../../reported-storage.ts";
import type { ServerRuntime } from "../../runtime.ts";
import type { Publication } from "../../subscribe/hub.ts";
import type { EndpointState } from "../endpoint.ts";
import { defaultLeaseMs, defaultSessionIdleMs, sharedSessionShare } from "../limits.ts";
import type { ServeHttpOptions } from "../options.ts";
import { changeableLists, keepSubscribed, lossTopic } from "./keep-subscribed.ts";
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
  { sessions }: ServeHttpOptions,
): Promise<() => Promise<void>> {
  const { idleMs = defaultSessionIdleMs, leaseMs = defaultLeaseMs } = sessions || {};
  try {
    return await join(state, storage, idleMs * sharedSessionShare, leaseMs);
  } catch (cause) {
    if (!state.isListening) state.runtime.report(cause);
    throw cause;
  }
}

async function join(
  { runtime, callers }: EndpointState,
  storage: Storage,
  sessionMs: number,
  leaseMs: number,
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
    found = { endpoints: 0, stop: begin(runtime, reportedStorage(runtime, storage), leaseMs) };
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

async function begin(runtime: ServerRuntime, storage: Storage, leaseMs: number): Promise<() => Promise<void>> {
  const report = (cause: unknown) => void runtime.report(cause);
  const registered = await register(runtime, storage, leaseMs, () => {
    report(
      new PortolanError("store-failed", "The storage has lost its data: sessions are gone, and clients begin new ones"),
    );
    storage.bus.publish(lossTopic, "").catch(report);
  });
  // One process that notices the loss tells the others.
  const restore = (isTold: boolean) => {
    registered.renew(isTold);
    const sealer = runtime.roundState?.sealer.sealer;
    if (sealer instanceof StoredKeySealer) sealer.restore().catch(report);
  };
  const stopHearing = keepSubscribed(storage.bus, lossTopic, {
    receive: () => restore(true),
    lost: () => restore(false),
    failed: report,
  });
  const stopRelay = startRelay(runtime, storage);
  return async () => {
    await Promise.all([registered.leave(), stopHearing(), stopRelay()]);
  };
}

function startRelay(runtime: ServerRuntime, storage: Storage): () => Promise<void> {
  const self = crypto.randomUUID();
  let deafSince: number | undefined;
  const relay = (publication: Publication) => {
    storage.bus
      .publish(topicName, JSON.stringify([self, publication]))
      .catch((cause) => runtime.report(cause, { method: "publish" }));
  };
  runtime.relays.add(relay);
  const unsubscribe = keepSubscribed(storage.bus, topicName, {
    receive(value) {
      const [from, { topic, payload, audience, id }] = JSON.parse(value) as [string, Publication];
      if (from !== self) runtime.hub.publish(topic, payload, audience, id);
    },
    failed(cause) {
      deafSince = performance.now();
      runtime.report(deaf(cause), { method: "publish" });
    },
    lost() {
      if (deafSince !== undefined) runtime.report(hearsAgain(deafSince), { method: "publish" });
      deafSince = undefined;
      tellAllChanged(runtime);
    },
  });
  return async () => {
    runtime.relays.delete(relay);
    await unsubscribe();
  };
}

function deaf(cause: unknown): PortolanError {
  const why = cause instanceof Error ? cause.message : String(cause);
  const consequence =
    "This process serves requests, but does not hear the others with the same storage. It tries again";
  return new PortolanError("store-failed", `${why}. ${consequence}`, { cause });
}

function hearsAgain(since: number): PortolanError {
  const seconds = ((performance.now() - since) / 1_000).toFixed(1);
  return new PortolanError(
    "store-failed",
    `This process hears the others with the same storage again after ${seconds} s`,
  );
}

/** Tells every listener once that all it listens to may have changed, because publications of other processes are missing. */
function tellAllChanged({ hub, snapshot }: ServerRuntime): void {
  for (const topic of changeableLists(snapshot)) hub.publish(topic, {});
  for (const [uri, listener] of hub.subscribers?.all() ?? []) {
    try {
      listener.deliver("resources/updated", { uri });
    } catch (error) {
      hub.report(error);
    }
  }
}
