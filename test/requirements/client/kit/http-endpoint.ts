import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { Message, RequestId } from "portolan";
import { metaKey } from "../../../kit/raw-peer.ts";
import type { Door, End, Hearing } from "./endpoints.ts";
import type { Request, Sent } from "./scripted-server.ts";

/** Streamable HTTP of both eras, with as little of its own as there can be. */
export async function openHttp(hearing: Hearing): Promise<Door> {
  const end = new HttpEnd(hearing);
  const server = createServer((request, response) => end.take(request, response));
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

/** What is said before a response goes before it on its stream; what belongs to no request on the stream of the session. */
class HttpEnd implements End {
  readonly #hearing: Hearing;
  /** The requests that have no response yet, oldest first. */
  readonly #open = new Map<RequestId, Answer>();
  #stream: ServerResponse | undefined;
  /** What was said before there was a stream to say it on. */
  #early: unknown[] = [];
  #isOpened = false;
  leave: () => void = () => {};

  constructor(hearing: Hearing) {
    this.#hearing = hearing;
  }

  async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!this.#isOpened) this.#hearing.opened(this);
    this.#isOpened = true;
    if (request.method === "GET") this.#begin(response);
    else if (request.method === "DELETE") {
      response.writeHead(200).end();
      this.#hearing.closed();
    } else this.#hear(JSON.parse(await text(request)), response, "mcp-method" in request.headers);
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
    if (before) before.say(value);
    else if (this.#stream) this.#stream.write(toEvent(value));
    else this.#early.push(value);
  }

  write(): never {
    throw new Error("bytes are for stdio");
  }

  command(): never {
    throw new Error("there is no process");
  }

  #begin(response: ServerResponse): void {
    this.#stream = response;
    response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    for (const value of this.#early.splice(0)) response.write(toEvent(value));
  }

  #hear(message: Request, response: ServerResponse, isStateless: boolean): void {
    const { id, method } = message;
    if (id === undefined || method === undefined) response.writeHead(202).end();
    else {
      const answer = new Answer(response, method);
      this.#open.set(id, answer);
      // There is no other stream than that of a request.
      if (isStateless) for (const value of this.#early.splice(0)) answer.say(value);
      response.on("close", () => {
        // To a stateless server a connection that is closed says what elsewhere a notification does.
        const isCancelled = this.#open.delete(id) && isStateless;
        if (isCancelled)
          this.#hearing.heard({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } });
      });
    }
    this.#hearing.heard(message as Message);
  }

  #answerFor({ params }: Sent): Answer | undefined {
    const named = params?.progressToken ?? params?._meta?.[metaKey("subscriptionId")];
    const newest = [...this.#open.values()].findLast(({ method }) => method !== "subscriptions/listen");
    return this.#open.get(named) ?? newest;
  }
}

/** The answer to one request: JSON, or a stream if something was said before. */
class Answer {
  readonly method: string;
  readonly #response: ServerResponse;

  constructor(response: ServerResponse, method: string) {
    this.#response = response;
    this.method = method;
  }

  say(value: unknown): void {
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
