import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { Message, RequestId } from "portolan";
import { metaKey } from "../../../kit/raw-peer.ts";
import type { End, Endpoint, ServerEvents } from "./endpoints.ts";
import type { Request, Sent } from "./scripted-server.ts";

/** Opens a minimal Streamable HTTP endpoint of both eras. */
export async function openHttp(events: ServerEvents): Promise<Endpoint> {
  const end = new HttpEnd(events);
  const server = createServer((request, response) => end.accept(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  end.leave = () => {
    server.close();
    server.closeAllConnections();
  };
  return {
    target: `http://127.0.0.1:${port}/mcp`,
    async close() {
      end.leave();
    },
  };
}

/** Sends messages before a response on its stream, and messages outside requests on the stream of the session. */
class HttpEnd implements End {
  readonly #events: ServerEvents;
  /** The requests without a response, oldest first. */
  readonly #open = new Map<RequestId, Answer>();
  #stream: ServerResponse | undefined;
  /** Messages that were sent before a stream was open. */
  #early: unknown[] = [];
  #isOpened = false;
  leave: () => void = () => {};

  constructor(events: ServerEvents) {
    this.#events = events;
  }

  async accept(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!this.#isOpened) this.#events.opened(this);
    this.#isOpened = true;
    if (request.method === "GET") this.#begin(response);
    else if (request.method === "DELETE") {
      response.writeHead(200).end();
      this.#events.closed();
    } else this.#receive(JSON.parse(await text(request)), response, "mcp-method" in request.headers);
  }

  send(value: unknown): void {
    const { id, method } = (value ?? {}) as Sent;
    const answer = method === undefined && id !== undefined ? this.#open.get(id) : undefined;
    if (answer) {
      this.#open.delete(id as RequestId);
      answer.finish(value);
      return;
    }
    const before = this.#answerFor(value as Sent);
    if (before) before.send(value);
    else if (this.#stream) this.#stream.write(toEvent(value));
    else this.#early.push(value);
  }

  write(): never {
    throw new Error("raw bytes exist over stdio only");
  }

  command(): never {
    throw new Error("a process exists over stdio only");
  }

  #begin(response: ServerResponse): void {
    this.#stream = response;
    response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    for (const value of this.#early.splice(0)) response.write(toEvent(value));
  }

  #receive(message: Request, response: ServerResponse, isStateless: boolean): void {
    const { id, method } = message;
    if (id === undefined || method === undefined) response.writeHead(202).end();
    else {
      const answer = new Answer(response, method);
      this.#open.set(id, answer);
      // A stateless client has only the streams of its requests.
      if (isStateless) for (const value of this.#early.splice(0)) answer.send(value);
      response.on("close", () => {
        // To a stateless server, closing the connection means a cancellation.
        const isCancelled = this.#open.delete(id) && isStateless;
        if (isCancelled)
          this.#events.received({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } });
      });
    }
    this.#events.received(message as Message);
  }

  #answerFor({ params }: Sent): Answer | undefined {
    const named = params?.progressToken ?? params?._meta?.[metaKey("subscriptionId")];
    const newest = [...this.#open.values()].findLast(({ method }) => method !== "subscriptions/listen");
    return this.#open.get(named) ?? newest;
  }
}

/** The answer to one request: JSON, or a stream if other messages precede it. */
class Answer {
  readonly method: string;
  readonly #response: ServerResponse;

  constructor(response: ServerResponse, method: string) {
    this.#response = response;
    this.method = method;
  }

  send(value: unknown): void {
    if (!this.#response.headersSent) this.#response.writeHead(200, { "content-type": "text/event-stream" });
    this.#response.write(toEvent(value));
  }

  finish(value: unknown): void {
    if (this.#response.headersSent) {
      this.#response.end(toEvent(value));
      return;
    }
    const session = this.method === "initialize" ? { "mcp-session-id": "the-session" } : {};
    this.#response.writeHead(200, { "content-type": "application/json", ...session });
    this.#response.end(JSON.stringify(value));
  }
}

function toEvent(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}
