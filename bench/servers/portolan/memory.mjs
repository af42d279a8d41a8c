import { createMemoryPair } from "portolan";
import { serveChannel } from "portolan/server";
import { createBenchServer } from "./tools.mjs";

/** @type {import("../../driver/memory-child.mjs").Connect} */
export function connect({ extraTools, schemaOf, onDefined }, receive) {
  const [near, far] = createMemoryPair();
  const server = createBenchServer(extraTools, schemaOf);
  onDefined?.();
  serveChannel(server, far);
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
