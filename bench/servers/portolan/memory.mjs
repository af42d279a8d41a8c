import { createMemoryPair } from "portolan";
import { serveChannel } from "portolan/server";
import { createBenchServer } from "./tools.mjs";

/** @type {import("../../driver/memory-child.mjs").Connect} */
export function connect({ extraTools, schemaOf }, receive) {
  const [near, far] = createMemoryPair();
  serveChannel(createBenchServer(extraTools, schemaOf), far);
  near.open({
    message: receive,
    batch: (messages) => messages.forEach(receive),
    unreadable(problem) {
      throw new Error(problem.why);
    },
    closed() {},
  });
  return (message) => near.send(message);
}
