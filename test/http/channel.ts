import { Agent, type ClientRequest, type IncomingMessage, request as openRequest } from "node:http";
import type { Channel, JsonObject, Message, RequestId } from "portolan";
import { LineReader, serialize } from "portolan";
import { metaKey } from "../kit/raw-peer.ts";
import { toEvents } from "./events.ts";

type Incoming = Parameters<Channel["open"]>[0];

const named: { readonly [method: string]: string } = {
  "tools/call": "name",
  "prompts/get": "name",
  "tasks/get": "taskId",
  "tasks/update": "taskId",
  "tasks/cancel": "taskId",
  "resources/read": "uri",
};

/** Streamable HTTP as a channel, so that the requirements written for channels also run over HTTP. */
export class HttpChannel implements Channel {
  readonly #url: string;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #running = new Map<RequestId, ClientRequest>();
  #incoming: Incoming | undefined;
  #session: string | undefined;
  #version: string | undefined;
  #stream: ClientRequest | undefined;
  /** Resolves when every earlier message has reached the server. */
  #sent: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(url: string) {
    this.#url = url;
  }

  open(incoming: Incoming): void {
    this.#incoming = incoming;
  }

  send(message: Parameters<Channel["send"]>[0]): void {
    const text = serialize(message);
    const parsed = JSON.parse(text) as Message | Message[];
    this.#sent = this.#sent.then(() => this.#post(text, parsed));
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#stream?.destroy();
    for (const request of this.#running.values()) request.destroy();
    this.#agent.destroy();
    this.#incoming?.closed();
  }

  /** Resolves when the server has the message: when it has answered, or when the message is written if the answer is slow. */
  #post(text: string, message: Message | Message[]): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    const one = typeof message !== "object" || Array.isArray(message) ? undefined : (message ?? undefined);
    const method = one && "method" in one ? one.method : undefined;
    const id = one && method !== undefined && "id" in one ? (one.id as RequestId) : undefined;
    const version = metaOf(one)?.[metaKey("protocolVersion")];
    if (method === "notifications/cancelled" && this.#session === undefined) {
      // Without a session, closing the connection is the only way to cancel.
      const params = (one as { params?: JsonObject }).params;
      this.#running.get(params?.["requestId"] as RequestId)?.destroy();
      return Promise.resolve();
    }
    const request = openRequest(this.#url, { method: "POST", agent: this.#agent });
    request.setHeader("content-type", "application/json");
    request.setHeader("accept", "application/json, text/event-stream");
    for (const [name, value] of this.#headersOf(one, version)) request.setHeader(name, value);
    if (id !== undefined) this.#running.set(id, request);
    return new Promise((resolve) => {
      request.on("error", () => resolve());
      request.on("close", () => {
        if (id !== undefined && this.#running.get(id) === request) this.#running.delete(id);
      });
      request.on("response", (response) => {
        if (method === "initialize") this.#begin(response, one as { params?: JsonObject });
        if (method === "notifications/initialized") this.#listen().then(resolve);
        else resolve();
        this.#read(response);
      });
      request.end(text, () => id !== undefined && method !== "initialize" && setImmediate(resolve));
    });
  }

  #headersOf(one: Message | undefined, version: unknown): [name: string, value: string][] {
    if (typeof version === "string" && one && "method" in one) {
      const name = (one.params as JsonObject | undefined)?.[named[one.method] ?? ""];
      return [
        ["mcp-protocol-version", version],
        ["mcp-method", one.method],
        ...(typeof name === "string" ? [["mcp-name", encode(name)] as [string, string]] : []),
      ];
    }
    if (this.#session === undefined) return [];
    const headers: [string, string][] = [["mcp-session-id", this.#session]];
    if (this.#version !== undefined) headers.push(["mcp-protocol-version", this.#version]);
    return headers;
  }

  #begin(response: IncomingMessage, { params }: { params?: JsonObject }): void {
    const session = response.headers["mcp-session-id"];
    if (typeof session !== "string") return;
    this.#session = session;
    const version = String(params?.["protocolVersion"]);
    this.#version = /^2025-(06-18|11-25)$/.test(version) ? version : undefined;
  }

  /** Opens the stream for messages outside requests, as clients do after the handshake. */
  #listen(): Promise<void> {
    if (this.#session === undefined || this.#isClosed) return Promise.resolve();
    this.#stream?.destroy();
    const request = openRequest(this.#url, { method: "GET", agent: false });
    request.setHeader("accept", "text/event-stream");
    for (const [name, value] of this.#headersOf(undefined, undefined)) request.setHeader(name, value);
    this.#stream = request;
    return new Promise((resolve) => {
      request.on("error", () => resolve());
      request.on("response", (response) => {
        resolve();
        this.#read(response);
      });
      request.end();
    });
  }

  async #read(response: IncomingMessage): Promise<void> {
    response.on("error", () => {});
    try {
      if (response.headers["content-type"] === "text/event-stream") {
        for await (const { data } of toEvents(response, () => {})) if (data !== "") this.#deliver(data);
        return;
      }
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk);
      const text = Buffer.concat(chunks).toString();
      if (text !== "") this.#deliver(text);
    } catch {
      // The connection was cut; a test that waits for more messages fails by its timeout.
    }
  }

  #deliver(text: string): void {
    if (this.#incoming && !this.#isClosed) new LineReader(this.#incoming).push(Buffer.from(`${text}\n`));
  }
}

function metaOf(message: Message | undefined): JsonObject | undefined {
  const params = message && "method" in message ? (message.params as JsonObject | undefined) : undefined;
  return (params as JsonObject | null | undefined)?.["_meta"] as JsonObject | undefined;
}

function encode(text: string): string {
  return /^[\x21-\x7e]*$/.test(text) ? text : `=?base64?${Buffer.from(text).toString("base64")}?=`;
}
