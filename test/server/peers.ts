import { createMemoryPair, type JsonObject } from "portolan";
import { type Servable, serveChannel } from "portolan/server";
import { onTestFinished } from "vitest";
import { connectMemory, RawPeer, type RawPeerOptions } from "../kit/raw-peer.ts";

export const info = { name: "test", version: "1.0.0" };
export const stateless = { revision: "2026-07-28" } as const;
export const stateful = { revision: "2025-11-25" } as const;
export const eras = [stateful, stateless];

export async function connect(server: Servable, options: RawPeerOptions = stateless): Promise<RawPeer> {
  const peer = await connectMemory(server, options);
  onTestFinished(() => peer.close());
  return peer;
}

export async function connectAs(server: Servable, key: string, options: RawPeerOptions = stateless): Promise<RawPeer> {
  const [near, far] = createMemoryPair({ serialize: true });
  serveChannel(server, far, { principal: { key } });
  const peer = await new RawPeer(near, options).start();
  onTestFinished(() => peer.close());
  return peer;
}

export async function names(peer: RawPeer, method = "tools/list", member = "tools"): Promise<string[]> {
  const { result } = await peer.request(method);
  return result[member].map((entry: { name?: string; uri?: string }) => entry.uri ?? entry.name);
}

export async function call(peer: RawPeer, name: string, args?: JsonObject): Promise<string> {
  const { result, error } = await peer.callTool(name, args);
  return error ? `${error.code}: ${error.message}` : result.content[0]?.text;
}

export async function listen(peer: RawPeer, notifications: JsonObject, id = "listen"): Promise<JsonObject> {
  peer.send({ jsonrpc: "2.0", id, method: "subscriptions/listen", params: peer.describe({ notifications }) });
  const { params } = await peer.notification("notifications/subscriptions/acknowledged");
  return params?.["notifications"] as JsonObject;
}

export function countNotifications(peer: RawPeer, method: string): number {
  return peer.notifications.filter((notification) => notification.method === `notifications/${method}`).length;
}
