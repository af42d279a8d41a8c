// Serves over standard input and output without a free file descriptor, so that no part can be loaded late.
import { openSync } from "node:fs";
import { createServer } from "portolan/server";
import { serveStdio } from "portolan/server/stdio";

serveStdio(createServer({ name: "full", version: "1.0.0" }).tool("echo", { run: () => "hi" }));
try {
  for (;;) openSync("/dev/null");
} catch (error) {
  if (error.code !== "EMFILE") throw error;
}
process.stderr.write("ready\n");
