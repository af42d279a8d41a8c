import { Child } from "../driver/child.mjs";
import { notifyEndToEnd } from "../driver/end-to-end.mjs";
import { programOf } from "../implementations.mjs";

/** 10,000 progress notifications from one call over stdio, each implementation's client with its own server. */
export function run(options) {
  return notifyEndToEnd("W7 end to end", { role: "client", open }, options);
}

/** A client that starts its server itself. */
function open({ name, folder }, era) {
  const settings = { folder, program: "client.mjs", era, server: programOf(name, "stdio") };
  const client = new Child(name, "client-child.mjs", settings);
  return { notify: (count) => client.ask({ run: "notify", count }), close: () => client.close() };
}
