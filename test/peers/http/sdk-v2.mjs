// A server on the official SDK, version 2. Its habit is named on the command line: auto, sse or json for the stateless
// era, sessions for the stateful one.
import { randomUUID } from "node:crypto";
import {
  createMcpHandler,
  inputRequired,
  McpServer,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { listen, serveWeb, toText } from "./listen.mjs";

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
    handler.notify.toolsChanged();
    return toText("changed");
  });
  return server;
}

const handler = createMcpHandler(createFixture, { responseMode: habit === "sessions" ? "auto" : habit });
const sessions = new Map();

async function handleSession(request) {
  const id = request.headers.get("mcp-session-id");
  const known = sessions.get(id);
  if (known) return known.handleRequest(request);
  if (id !== null) return new Response("Session not found", { status: 404 });
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (created) => sessions.set(created, transport),
    onsessionclosed: (closed) => sessions.delete(closed),
  });
  await createFixture().connect(transport);
  return transport.handleRequest(request);
}

listen((request, response) => serveWeb(habit === "sessions" ? handleSession : handler.fetch, request, response));
