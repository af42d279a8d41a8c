// A server in a process that a timer keeps alive.
import { createServer } from "portolan/server";

export default function createBusyServer() {
  setInterval(() => {}, 1_000);
  return createServer({ name: "busy", version: "1.0.0" })
    .tool("wait", { run: (args) => new Promise((resolve) => setTimeout(() => resolve("waited"), args.ms)) })
    .tool("never", { run: () => new Promise(() => {}) });
}
