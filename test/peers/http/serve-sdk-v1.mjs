// HTTP for servers on the official SDK, version 1.
import { randomUUID } from "node:crypto";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { createEventStore, listen } from "./listen.mjs";

/**
 * Serves a fixture per session. The mode is `events`, `json`, `polling` (streams that can be resumed),
 * `sessionless`, `sessionless-json` or `http-sse`.
 */
export function serveSdkV1(createFixture, habit) {
  const sessions = new Map();
  const isSessionless = habit.startsWith("sessionless");

  async function handleSession(request, response) {
    const id = request.headers["mcp-session-id"];
    const known = sessions.get(id);
    if (known) return known.handleRequest(request, response);
    if (id !== undefined) return response.writeHead(404).end("Session not found");
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: isSessionless ? undefined : randomUUID,
      enableJsonResponse: habit.endsWith("json"),
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
}
