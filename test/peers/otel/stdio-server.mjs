// A traced server over stdio in a process of its own. The collector is its only argument.
import { trace } from "@opentelemetry/api";
import { traceServer } from "portolan/otel";
import { createServer } from "portolan/server";
import { serveStdio } from "portolan/server/stdio";
import { startTelemetry } from "./sdk.mjs";

startTelemetry(process.argv[2], { isImmediate: true });

const server = createServer({ name: "traced", version: "1.0.0" })
  .tool("greet", {
    async run() {
      await new Promise(setImmediate);
      trace.getTracer("test").startSpan("inside").end();
      return "hello";
    },
  })
  .tool("order", {
    async run(_, ctx) {
      const form = { type: "object", properties: { size: { type: "string" } }, required: ["size"] };
      return (await ctx.elicit("size", { message: "Which size?", form })).action;
    },
  })
  .use(traceServer());
serveStdio(server);
