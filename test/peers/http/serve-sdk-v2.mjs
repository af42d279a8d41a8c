// HTTP for servers on the official SDK, version 2.
import { randomUUID } from "node:crypto";
import { createMcpHandler, WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import { createEventStore, listen, serveWeb } from "./listen.mjs";

/**
 * Serves a fixture per request in the modes `auto`, `sse` and `json`, which also accept single requests of the
 * stateful era; a fixture per session in `sessions`, `sessions-json` and `sessions-polling`. Returns a function that
 * notifies subscribers without a session.
 */
export function serveSdkV2(createFixture, habit) {
  const hasSessions = habit.startsWith("sessions");
  const handler = createMcpHandler(createFixture, { responseMode: hasSessions ? "auto" : habit });
  const sessions = new Map();

  async function handleSession(request) {
    const id = request.headers.get("mcp-session-id");
    const known = sessions.get(id);
    if (known) return known.handleRequest(request);
    if (id !== null) return new Response("Session not found", { status: 404 });
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      enableJsonResponse: habit.endsWith("json"),
      onsessioninitialized: (created) => sessions.set(created, transport),
      onsessionclosed: (closed) => sessions.delete(closed),
      ...(habit.endsWith("polling") && { eventStore: createEventStore(), retryInterval: 600 }),
    });
    await createFixture({ era: "legacy" }).connect(transport);
    return transport.handleRequest(request);
  }

  listen((request, response) => serveWeb(hasSessions ? handleSession : handler.fetch, request, response));
  return handler.notify;
}
