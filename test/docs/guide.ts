import type { Servable } from "portolan/server";
import { onTestFinished } from "vitest";
import { pathTo } from "../examples/example.ts";
import { connectMemory, type RawPeer, type RawPeerOptions } from "../kit/raw-peer.ts";

/** Imports a module of the guides. */
// biome-ignore lint/suspicious/noExplicitAny: the modules are plain JavaScript
export function importGuide(name: string): Promise<any> {
  return import(pathTo(`examples/guide/${name}.mjs`));
}

/** Connects to a server of a guide; closes the connection after the test. */
export async function connect(server: Servable, options: RawPeerOptions): Promise<RawPeer> {
  const peer = await connectMemory(server, options);
  onTestFinished(() => peer.close());
  return peer;
}
