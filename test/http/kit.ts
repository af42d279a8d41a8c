import { type IncomingHttpHeaders, type IncomingMessage, request as openRequest } from "node:http";
import type { JsonObject, RequestId } from "portolan";
import type { Servable } from "portolan/server";
import { type ServeHttpOptions, serveHttp } from "portolan/server/http";
import { afterAll, beforeAll, onTestFinished } from "vitest";
import type { RawResponse } from "../kit/raw-peer.ts";
import { openListener, toListener } from "./adapters.ts";
import { type ServerEvent, toEvents } from "./events.ts";

export type Headers = { readonly [name: string]: string | readonly string[] | undefined };

export interface Sent {
  readonly method?: string;
  readonly headers?: Headers;
  /** Text and bytes as they are, anything else as JSON. */
  readonly body?: unknown;
  /** Cuts the connection when it aborts. */
  readonly signal?: AbortSignal | undefined;
}

/** A server of ours on its own port; it is closed at the end of the test. */
export interface Started {
  readonly url: string;
  readonly port: number;
  close(graceMs?: number): Promise<void>;
}

/** The adapter that serves the tests of a file. */
let adapter: "node" | "fetch" = "node";

/** Serves the tests of a file through the fetch adapter, as a web framework does. */
export function useFetchAdapter(): void {
  beforeAll(() => {
    adapter = "fetch";
  });
  afterAll(() => {
    adapter = "node";
  });
}

export async function start(server: Servable, options: ServeHttpOptions = {}, by = adapter): Promise<Started> {
  const serving = serveHttp(server, options);
  if (by === "fetch") {
    const port = await openListener(toListener(serving.fetch));
    onTestFinished(() => serving.close(0));
    return { url: `http://127.0.0.1:${port}/mcp`, port, close: (graceMs) => serving.close(graceMs) };
  }
  const { url, port } = await serving.listen(0);
  onTestFinished(() => serving.close(0));
  return { url, port, close: (graceMs) => serving.close(graceMs) };
}

/** The headers of a client that takes every kind of answer. */
export const plainHeaders: Headers = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
};

/** Sends one HTTP request and resolves when the headers of its answer arrive. */
export function send(url: string, { method = "POST", headers = plainHeaders, body, signal }: Sent): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const named = Object.entries(headers).filter(([, value]) => value !== undefined);
    const request = openRequest(url, { method, agent: false, ...(signal && { signal }) });
    for (const [name, value] of named) request.setHeader(name, value as string | string[]);
    request.on("response", (response) => resolve(new Answer(response)));
    request.on("error", reject);
    onTestFinished(() => {
      request.destroy();
    });
    request.end(body === undefined || typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body));
  });
}

/** The answer to one HTTP request, read as it arrives. */
export class Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Resolves when either side has closed the connection. */
  readonly closed: Promise<void>;
  readonly #response: IncomingMessage;
  readonly #events: AsyncGenerator<ServerEvent>;
  #comments = 0;
  #watchers: (() => void)[] = [];

  constructor(response: IncomingMessage) {
    this.#response = response;
    this.status = response.statusCode ?? 0;
    this.headers = response.headers;
    response.on("error", () => {});
    this.closed = new Promise((resolve) => response.once("close", resolve));
    this.#events = toEvents(response, () => {
      this.#comments += 1;
      for (const wake of this.#watchers.splice(0)) wake();
    });
  }

  get isStream(): boolean {
    return this.headers["content-type"] === "text/event-stream";
  }

  async text(): Promise<string> {
    const chunks: Buffer[] = [];
    for await (const chunk of this.#response) chunks.push(chunk);
    return Buffer.concat(chunks).toString();
  }

  async json(): Promise<RawResponse> {
    return JSON.parse(await this.text());
  }

  /** The next event of the stream; undefined when there are no more. */
  async event(): Promise<ServerEvent | undefined> {
    const { value, done } = await this.#events.next();
    return done ? undefined : value;
  }

  /** Resolves when a comment has arrived. The events must be read at the same time. */
  async commented(): Promise<void> {
    while (this.#comments === 0) await new Promise<void>((resolve) => this.#watchers.push(resolve));
  }

  /** The next event that carries a message. */
  async messageEvent(): Promise<ServerEvent> {
    for (let event = await this.event(); event; event = await this.event()) if (event.data !== "") return event;
    throw new Error("expected a message, got the end of the stream");
  }

  /** The next message. */
  async message(): Promise<ReceivedMessage> {
    return JSON.parse((await this.messageEvent()).data);
  }

  /** All remaining messages, the response last. */
  async messages(): Promise<ReceivedMessage[]> {
    const messages: ReceivedMessage[] = [];
    for (let event = await this.event(); event; event = await this.event()) {
      if (event.data !== "") messages.push(JSON.parse(event.data));
    }
    return messages;
  }

  /** The response, from JSON or from a stream. */
  async response(): Promise<RawResponse> {
    if (!this.isStream) return this.json();
    const all = await this.messages();
    return all.at(-1) ?? {};
  }

  /** Closes the connection without reading the rest. */
  drop(): void {
    this.#response.destroy();
  }

  /** Stops reading but keeps the connection open. */
  stall(): void {
    this.#response.socket.pause();
  }

  /** Continues reading after `stall`. */
  resume(): void {
    this.#response.socket.resume();
  }

  /** Resolves when the server has cut a stalled connection. */
  gone(): Promise<void> {
    const { socket } = this.#response;
    return new Promise((resolve) => {
      socket.once("close", () => resolve());
      // A stalled socket notices that the other side has gone only when it writes.
      const poke = setInterval(() => socket.write("\r\n"), 5);
      socket.once("close", () => clearInterval(poke));
    });
  }
}

/** Any message of the server. */
export interface ReceivedMessage extends RawResponse {
  readonly method?: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into params of every shape
  readonly params?: any;
}

/** A request as it goes over the wire. */
export function toRequest(method: string, params?: JsonObject, id: RequestId = 1): JsonObject {
  return { jsonrpc: "2.0", id, method, ...(params && { params }) };
}

export function toNotification(method: string, params?: JsonObject): JsonObject {
  return { jsonrpc: "2.0", method, ...(params && { params }) };
}

/** The request of a handshake. */
export function toInitialize(revision: string, capabilities: JsonObject = {}, id: RequestId = "init"): JsonObject {
  return toRequest("initialize", { protocolVersion: revision, capabilities, clientInfo }, id);
}

export const clientInfo: JsonObject = { name: "raw-http", version: "1.0.0" };
