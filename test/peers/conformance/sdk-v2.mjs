// The server that the conformance suite expects, on the official SDK, version 2: both eras at one URL.
import { randomBytes, randomUUID } from "node:crypto";
import {
  createMcpHandler,
  createRequestStateCodec,
  hostHeaderValidationResponse,
  isLegacyRequest,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  McpServer,
  originValidationResponse,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { createEventStore, listen, serveWeb } from "../http/listen.mjs";
import { addFeatures } from "./sdk-v2-features.mjs";
import { addTools } from "./sdk-v2-tools.mjs";

const codec = createRequestStateCodec({ key: randomBytes(32) });
const capabilities = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  logging: {},
  completions: {},
};

function createFixture() {
  const server = new McpServer(
    { name: "sdk-v2-conformance", version: "1.0.0" },
    { capabilities, requestState: { verify: codec.verify } },
  );
  addTools(server, { mint: codec.mint, notify: stateless.notify });
  addFeatures(server);
  server.server.setRequestHandler("resources/subscribe", () => ({}));
  server.server.setRequestHandler("resources/unsubscribe", () => ({}));
  return server;
}

const stateless = createMcpHandler(createFixture, { legacy: "reject" });
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
    eventStore: createEventStore(),
    retryInterval: 600,
  });
  await createFixture().connect(transport);
  return transport.handleRequest(request);
}

async function handle(request) {
  const refused =
    hostHeaderValidationResponse(request, localhostAllowedHostnames()) ??
    originValidationResponse(request, localhostAllowedOrigins());
  if (refused) return refused;
  return (await isLegacyRequest(request)) ? handleSession(request) : stateless.fetch(request);
}

listen((request, response) => serveWeb(handle, request, response));
