import type { ServerResponse } from "node:http";
import type { JsonObject } from "portolan";
import { type Client, type ConnectOptions, connect } from "portolan/client";
import { type HttpLinkOptions, http } from "portolan/client/http";
import {
  closing,
  discovery,
  type Handler,
  type RawServer,
  resultOf,
  type Seen,
  sendJson,
  startEvents,
  startRaw,
  toEvent,
} from "../../../http-client/kit.ts";
import { isStateless, type RevisionDate } from "../../../kit/revisions.ts";

export interface Serving {
  /** Handles every request first; returns `true` if it has answered. */
  readonly first?: (seen: Seen, response: ServerResponse) => unknown;
  /** Answers tool calls. */
  readonly call?: Handler;
  /** Answers GET requests. Default: 405. */
  readonly get?: Handler;
  readonly sessionId?: string | (() => string);
}

const offers = { tools: {}, resources: { subscribe: true }, prompts: {} };

export const textResult = (text: string): JsonObject => ({ resultType: "complete", content: [{ type: "text", text }] });

/** Starts a server of one revision over Streamable HTTP; a test can replace each part. */
export function serve(
  revision: RevisionDate,
  { first, call, get, sessionId = "s-1" }: Serving = {},
): Promise<RawServer> {
  return startRaw((seen, response, request) => {
    const { method, message } = seen;
    if (first?.(seen, response) === true) return;
    if (method === "GET" && get) get(seen, response, request);
    else if (method === "GET") response.writeHead(405).end();
    else if (method === "DELETE") response.writeHead(200).end();
    else if (message.method === "server/discover") {
      if (isStateless(revision)) sendJson(response, 200, resultOf(message, { ...discovery(), capabilities: offers }));
      else response.writeHead(404).end();
    } else if (message.method === "initialize" && !isStateless(revision)) {
      const id = typeof sessionId === "string" ? sessionId : sessionId();
      const serverInfo = { name: "raw", version: "1" };
      const result = { protocolVersion: revision, capabilities: offers, serverInfo };
      sendJson(response, 200, resultOf(message, result), { "mcp-session-id": id });
    } else if (!("id" in message) || !("method" in message)) response.writeHead(202).end();
    else if (message.method === "tools/call" && call) call(seen, response, request);
    else sendJson(response, 200, resultOf(message, textResult("done")));
  });
}

/** Connects a client of one revision; it is closed at the end of the test. */
export async function open(
  { url }: RawServer,
  revision: RevisionDate,
  link: HttpLinkOptions = {},
  options: ConnectOptions = {},
): Promise<Client> {
  return closing(await connect(http(url, link), { era: revision, ...options }));
}

/** Starts an HTTP+SSE server; it refuses a POST to the address of the stream with 405. */
export async function serveOld(
  revision: RevisionDate,
  endpoint = () => "/messages",
): Promise<RawServer & { cut(): void }> {
  let stream: ServerResponse | undefined;
  const server = await startRaw(({ method, path, message }, response) => {
    if (method === "GET") {
      stream = response;
      startEvents(response);
      response.write(`event: endpoint\ndata: ${endpoint()}\n\n`);
    } else if (path === "/mcp") response.writeHead(405).end();
    else {
      response.writeHead(202).end();
      if (!("id" in message) || !("method" in message) || message.params?.["name"] === "hang") return;
      const greeting = { protocolVersion: revision, capabilities: offers, serverInfo: { name: "old", version: "1" } };
      stream?.write(toEvent(resultOf(message, message.method === "initialize" ? greeting : textResult("done"))));
    }
  });
  return { ...server, cut: () => stream?.destroy() };
}

/** The requests of an HTTP method or of a protocol method. */
export function requestsOf({ seen }: RawServer, what: string): Seen[] {
  return seen.filter(({ method, message }) => method === what || message?.method === what);
}

/** Answers a call with a stream and writes events to it. */
export function streamOf(response: ServerResponse, ...events: string[]): void {
  startEvents(response);
  for (const event of events) response.write(event);
}
