import { once } from "node:events";
import { createServer } from "node:net";

/** Resolves to a free port of this machine. */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "localhost");
  await once(probe, "listening");
  const { port } = probe.address() as { port: number };
  await once(probe.close(), "close");
  return port;
}
