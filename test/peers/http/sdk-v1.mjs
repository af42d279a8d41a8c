// A server on the official SDK, version 1. The command line names its mode.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";
import { toText } from "./listen.mjs";
import { serveSdkV1 } from "./serve-sdk-v1.mjs";

const [habit = "events"] = process.argv.slice(2);
const journal = [];

function createFixture() {
  const server = new McpServer({ name: "sdk-v1-http", version: "1.0.0" }, { capabilities: { logging: {} } });
  server.registerTool("echo", { inputSchema: { text: z.string() } }, ({ text }) => toText(text));
  server.registerTool("count", { inputSchema: { to: z.number() } }, async ({ to }, { _meta, sendNotification }) => {
    for (let progress = 1; progress <= to; progress += 1) {
      const params = { progressToken: _meta.progressToken, progress };
      await sendNotification({ method: "notifications/progress", params });
    }
    return toText("counted");
  });
  server.registerTool("ask", {}, async () => {
    const requestedSchema = { type: "object", properties: { name: { type: "string" } } };
    const { content } = await server.server.elicitInput({ message: "Who?", requestedSchema });
    return toText(`Hello ${content.name}`);
  });
  server.registerTool("slow", {}, async (extra) => {
    journal.push("started");
    await extra.sendNotification({
      method: "notifications/progress",
      params: { progressToken: extra._meta.progressToken, progress: 1 },
    });
    return new Promise((_, reject) => {
      extra.signal.addEventListener("abort", () => {
        journal.push("aborted");
        reject(new Error("aborted"));
      });
    });
  });
  server.registerTool("journal", {}, () => toText(journal.join(" ")));
  // Closes the connection before the result: only a client that reconnects receives it.
  server.registerTool("detached", {}, async (extra) => {
    extra.closeSSEStream();
    await new Promise((resolve) => setTimeout(resolve, 100));
    return toText("you came back");
  });
  server.registerTool("grow", {}, () => {
    server.registerTool("grown", {}, () => toText("I am new"));
    return toText("grown");
  });
  return server;
}

serveSdkV1(createFixture, habit);
