import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import type { JsonObject, Message, RpcNotification, RpcRequest } from "portolan";
import type { Client } from "portolan/client";
import { type HttpLink, type HttpLinkOptions, http } from "portolan/client/http";
import { onTestFinished } from "vitest";
import { quickServer } from "../kit/quick-servers.mjs";

/** One request as the server received it. */
export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The message in the body. */
  readonly message: RpcRequest;
}

export type Handler = (seen: Seen, response: ServerResponse, request: IncomingMessage) => unknown;

export interface RawServer {
  readonly url: string;
  readonly port: number;
  readonly seen: Seen[];
  /** Closes every connection and stops listening. */
  stop(): Promise<void>;
}

/** Starts a node:http server with the test's handler. Default: a free port. */
export async function startRaw(handle: Handler, port = 0): Promise<RawServer> {
  const seen: Seen[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    const { method = "", url: path = "", headers } = request;
    const one = { method, path, headers, body, message: body === "" ? undefined : JSON.parse(body) };
    seen.push(one);
    await handle(one, response, request);
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const stop = async () => {
    if (!server.listening) return;
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  };
  onTestFinished(stop);
  const address = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${address.port}/mcp`, port: address.port, seen, stop };
}

export function sendJson(response: ServerResponse, status: number, value: unknown, headers = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(value));
}

/** Begins a stream of events. */
export function startEvents(response: ServerResponse, headers = {}): void {
  response.writeHead(200, { "content-type": "text/event-stream", ...headers });
  response.flushHeaders();
}

export function toEvent(value: unknown, id?: string): string {
  return `${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify(value)}\n\n`;
}

export const resultOf = ({ id }: RpcRequest, result: JsonObject = {}): JsonObject => ({ jsonrpc: "2.0", id, result });
export const textOf = (result: { content: unknown }): string => (result.content as { text: string }[])[0]!.text;

/** The discovery result of a stateless server. */
export const discovery = (tools = {}): JsonObject => ({
  resultType: "complete",
  supportedVersions: ["2026-07-28"],
  capabilities: { tools },
  ttlMs: 0,
  cacheScope: "private",
});

/** Answers the handshake of a stateful client; returns false for every other request. */
export function answerHandshake(seen: Seen, response: ServerResponse, sessionId?: string): boolean {
  const { message, method } = seen;
  if (method === "GET" || method === "DELETE") {
    response.writeHead(405).end();
    return true;
  }
  if (message.method === "server/discover") response.writeHead(404).end();
  else if (message.method === "initialize") {
    const result = {
      protocolVersion: "2025-11-25",
      capabilities: { tools: {} },
      serverInfo: { name: "raw", version: "1" },
    };
    const headers = sessionId === undefined ? {} : { "mcp-session-id": sessionId };
    sendJson(response, 200, resultOf(message, result), headers);
  } else if (!("id" in message)) response.writeHead(202).end();
  else return false;
  return true;
}

/** An open link, and everything it reported. */
export interface Opened {
  readonly link: HttpLink;
  readonly notifications: RpcNotification[];
  readonly invalid: string[];
  readonly requests: { readonly request: RpcRequest; readonly during: unknown }[];
  readonly renewed: () => number;
  readonly interrupted: () => number;
  readonly lost: Promise<Error>;
  /** Resolves to the response of a request; rejects with the reason of the link. */
  ask(request: Omit<RpcRequest, "jsonrpc" | "id"> & { id?: string | number }): Promise<Message>;
}

export async function openLink(url: string, options: HttpLinkOptions = {}): Promise<Opened> {
  const link = http(url, options);
  const notifications: RpcNotification[] = [];
  const invalid: string[] = [];
  const requests: { request: RpcRequest; during: unknown }[] = [];
  let [renewals, interruptions] = [0, 0];
  let lose: (reason: Error) => void = () => {};
  const lost = new Promise<Error>((resolve) => {
    lose = resolve;
  });
  await link.open({
    request: (request, answer, during) => {
      requests.push({ request, during });
      answer({ jsonrpc: "2.0", id: request.id, result: { said: "yes" } });
    },
    notification: (notification) => notifications.push(notification),
    invalid: (why) => invalid.push(why),
    renewed: () => {
      renewals += 1;
    },
    interrupted: () => {
      interruptions += 1;
    },
    lost: lose,
  });
  onTestFinished(() => link.close());
  let id = 0;
  const ask: Opened["ask"] = (request) => {
    id += 1;
    return new Promise((response, failed) => link.exchange({ jsonrpc: "2.0", id, ...request }, { response, failed }));
  };
  return {
    link,
    notifications,
    invalid,
    requests,
    renewed: () => renewals,
    interrupted: () => interruptions,
    lost,
    ask,
  };
}

/** Performs the handshake of a stateful client. */
export async function begin({ ask, link }: Opened): Promise<void> {
  await ask({ method: "initialize", params: { protocolVersion: "2025-11-25" } });
  link.notify({ jsonrpc: "2.0", method: "notifications/initialized" });
}

/** A request with stateless metadata. */
export function stateless(method: string, params: JsonObject = {}): { method: string; params: JsonObject } {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  return { method, params: { ...params, _meta } };
}

/** Resolves to the reason of an attempt that must fail. */
export async function reasonOf(attempt: Promise<unknown>): Promise<Error & { code?: unknown; status?: unknown }> {
  return attempt.then(
    (value) => {
      throw new Error(`expected a failure, got ${JSON.stringify(value)}`);
    },
    (reason) => reason,
  );
}

/** Resolves when a condition holds; checks it every 5 ms. */
export async function until(condition: () => unknown): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** Starts a server of another implementation and resolves to its URL. */
export async function startPeer(file: string, ...args: string[]): Promise<string> {
  const path = quickServer(fileURLToPath(new URL(`../peers/http/${file}`, import.meta.url)));
  const child = spawn(process.execPath, [path, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(async () => {
    const closed = once(child, "close");
    child.kill("SIGKILL");
    await closed;
  });
  const [line] = await once(child.stdout, "data");
  return String(line).trim();
}

export function closing(client: Client): Client {
  onTestFinished(() => client.close());
  return client;
}
