import type { Servable } from "portolan/server";
import { onTestFinished } from "vitest";
import { pathTo } from "../examples/example.ts";
import { connectMemory, type RawPeer, type RawPeerOptions } from "../kit/raw-peer.ts";

/** A module of the guides as its reader would import it. */
// biome-ignore lint/suspicious/noExplicitAny: the modules are plain JavaScript
export function importGuide(name: string): Promise<any> {
  return import(pathTo(`examples/guide/${name}.mjs`));
}

/** Connects to a server of a guide until the test is over. */
export async function connect(server: Servable, options: RawPeerOptions): Promise<RawPeer> {
  const peer = await connectMemory(server, options);
  onTestFinished(() => peer.close());
  return peer;
}
