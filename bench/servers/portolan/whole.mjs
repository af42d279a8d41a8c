import { createMemoryPair } from "portolan";
import { connect as connectTo } from "portolan/client";
import { serveChannel } from "portolan/server";
import { toBenchClient } from "./bench-client.mjs";
import { createBenchServer } from "./tools.mjs";

/** @type {import("../../driver/client-child.mjs").Connect} */
export async function connect({ era }) {
  const [near, far] = createMemoryPair();
  serveChannel(createBenchServer(0), far);
  return toBenchClient(await connectTo(near, { era }));
}
