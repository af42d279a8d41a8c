import type { JsonObject } from "../../jsonrpc/message.ts";
import type { Peer } from "../../protocol/revision.ts";
import { knows } from "../extension.ts";
import type { Runtime } from "../subscribe/runtime.ts";

/** Hands a notification of a stateful client to the server's own listeners and to those of its extensions. */
export function hear(runtime: Runtime, peer: Peer, method: string, params: JsonObject): void {
  const { snapshot } = runtime;
  try {
    snapshot.parts.notifications.get(method)?.(params, peer);
    for (const [{ id }, extension] of snapshot.extensionsOn(peer.revision)) {
      const { notifications = {} } = extension;
      if (knows(peer, id) && Object.hasOwn(notifications, method)) notifications[method]?.(params, peer);
    }
  } catch (cause) {
    runtime.report(cause, method);
  }
}
