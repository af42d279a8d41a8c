// A server on the official SDK, version 2. The command line names its mode.
import { inputRequired, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import { toText } from "./listen.mjs";
import { serveSdkV2 } from "./serve-sdk-v2.mjs";

const [habit = "auto"] = process.argv.slice(2);
const journal = [];

function createFixture() {
  const server = new McpServer({ name: "sdk-v2-http", version: "1.0.0" }, { capabilities: { logging: {} } });
  server.registerTool("echo", { inputSchema: z.object({ text: z.string() }) }, ({ text }) => toText(text));
  server.registerTool("count", { inputSchema: z.object({ to: z.number() }) }, async ({ to }, { mcpReq }) => {
    for (let progress = 1; progress <= to; progress += 1) {
      const params = { progressToken: mcpReq._meta.progressToken, progress };
      await mcpReq.notify({ method: "notifications/progress", params });
    }
    return toText("counted");
  });
  server.registerTool("ask", {}, ({ mcpReq }) => {
    const answer = mcpReq.inputResponses?.name;
    if (answer) return toText(`Hello ${answer.content.name}`);
    const requestedSchema = { type: "object", properties: { name: { type: "string" } } };
    return inputRequired({ inputRequests: { name: inputRequired.elicit({ message: "Who?", requestedSchema }) } });
  });
  server.registerTool("slow", {}, async ({ mcpReq }) => {
    journal.push("started");
    await mcpReq.notify({
      method: "notifications/progress",
      params: { progressToken: mcpReq._meta.progressToken, progress: 1 },
    });
    return new Promise((_, reject) => {
      mcpReq.signal.addEventListener("abort", () => {
        journal.push("aborted");
        reject(new Error("aborted"));
      });
    });
  });
  server.registerTool("journal", {}, () => toText(journal.join(" ")));
  server.registerTool("change", {}, () => {
    notify.toolsChanged();
    return toText("changed");
  });
  return server;
}

const notify = serveSdkV2(createFixture, habit);
