// A server on the official SDK, version 1. Its habit is named on the command line: events, json, polling, sessionless
// or http-sse.
import { randomUUID } from "node:crypto";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";
import { createEventStore, listen, toText } from "./listen.mjs";

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
  // The connection is dropped before the result is there: only who comes back will have it.
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

const sessions = new Map();

async function handleSession(request, response) {
  const id = request.headers["mcp-session-id"];
  const known = sessions.get(id);
  if (known) return known.handleRequest(request, response);
  if (id !== undefined) return response.writeHead(404).end("Session not found");
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: habit === "sessionless" ? undefined : randomUUID,
    enableJsonResponse: habit === "json",
    onsessioninitialized: (created) => sessions.set(created, transport),
    onsessionclosed: (closed) => sessions.delete(closed),
    ...(habit === "polling" && { eventStore: createEventStore(), retryInterval: 600 }),
  });
  await createFixture().connect(transport);
  return transport.handleRequest(request, response);
}

async function handleTwoEndpoints(request, response) {
  const { pathname, searchParams } = new URL(request.url, "http://localhost");
  if (request.method === "GET" && pathname === "/mcp") {
    const transport = new SSEServerTransport("/messages", response);
    sessions.set(transport.sessionId, transport);
    return createFixture().connect(transport);
  }
  const transport = sessions.get(searchParams.get("sessionId"));
  if (pathname !== "/messages" || !transport) return response.writeHead(404).end("Not found");
  return transport.handlePostMessage(request, response);
}

listen(habit === "http-sse" ? handleTwoEndpoints : handleSession);
