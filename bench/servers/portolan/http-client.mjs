import { connect as connectTo } from "portolan/client";
import { toBenchClient } from "./bench-client.mjs";

/** @type {import("../../driver/client-child.mjs").Connect} */
export async function connect({ era, url }) {
  return toBenchClient(await connectTo(url, { era }));
}
