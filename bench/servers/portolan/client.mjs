import { connect as connectTo } from "portolan/client";
import { toBenchClient } from "./bench-client.mjs";

/** @type {import("../../driver/client-child.mjs").Connect} */
export async function connect({ era, command, args, env }) {
  return toBenchClient(await connectTo({ command, args, env }, { era }));
}
