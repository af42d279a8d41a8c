import type { MaybePromise } from "../../async.ts";
import { PortolanError } from "../../errors.ts";
import { RpcError } from "../../jsonrpc/message.ts";
import { invalidParams } from "../../protocol/errors.ts";
import type { Session } from "../channel/session.ts";
import { maxSubscriptions } from "../limits.ts";
import type { Hub } from "./hub.ts";
import { subscribersOf } from "./subscribers.ts";

/** The watch of one resource, and the number of listeners that need it. */
export interface SharedWatch {
  holders: number;
  readonly stop: Promise<() => void>;
}

/**
 * Holds the watch of a URI, which begins with the first holder and stops after the last one. Resolves to the function
 * that releases it, once the watch has begun.
 */
export async function holdWatch(
  hub: Hub,
  uri: string,
  begin: (changed: (uri?: string) => void) => MaybePromise<() => void>,
): Promise<() => void> {
  let found = hub.watches.get(uri);
  if (!found) {
    const changed = (inner = uri) => hub.publish("resources/updated", { uri: inner });
    found = { holders: 0, stop: Promise.resolve().then(() => begin(changed)) };
    hub.watches.set(uri, found);
  }
  const watch = found;
  watch.holders += 1;
  try {
    await watch.stop;
  } catch (cause) {
    hub.watches.delete(uri);
    // An error for the peer, such as "resource not found".
    if (cause instanceof RpcError) throw cause;
    throw new PortolanError("invalid-definition", `Watching ${uri} failed`, { cause });
  }
  return () => {
    watch.holders -= 1;
    if (watch.holders > 0) return;
    hub.watches.delete(uri);
    watch.stop.then((stop) => stop()).catch((error) => hub.report(error));
  };
}

/** Adds the subscription of a session, and waits until its watch has begun. `hold` begins the watch and resolves to the function that releases it. */
export async function addSubscription(
  session: Session,
  uri: string,
  hold: () => Promise<() => void> | undefined,
): Promise<void> {
  const { hub } = session;
  session.subscriptions ??= new Map();
  const { subscriptions } = session;
  if (subscriptions.has(uri)) {
    await subscriptions.get(uri);
    return;
  }
  // A subscription that is added after the end would never be released.
  if (session.isEnded) return;
  checkSubscriptionLimit(subscriptions.size);
  const held = hold();
  subscriptions.set(uri, held);
  subscribersOf(hub).add(uri, session);
  try {
    await held;
  } catch (cause) {
    subscriptions.delete(uri);
    subscribersOf(hub).delete(uri, session);
    throw cause;
  }
}

/** Throws if a session with this many subscriptions may not have another. */
export function checkSubscriptionLimit(count: number): void {
  if (count < maxSubscriptions) return;
  throw invalidParams(
    `uri: this session has ${maxSubscriptions} subscriptions, the most it may have; unsubscribe first`,
  );
}
