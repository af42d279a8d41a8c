import { once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";

/** One request as a site received it. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  /** The form of the request; empty if it had none. */
  readonly form: URLSearchParams;
  readonly body: string;
}

export interface Answer {
  readonly status?: number;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: unknown;
}

type MaybePromise<T> = T | Promise<T>;

/** Replaces the response of a site; `undefined` leaves it unchanged. */
export type Behaviour = (asked: Asked) => MaybePromise<Answer | "hang up" | undefined>;

/** A server on loopback that records its requests, and whose responses a test can replace. */
export class Site {
  readonly asked: Asked[] = [];
  /** By path, or `"*"` for all other paths. */
  readonly instead = new Map<string, Behaviour>();
  readonly #server = createServer((request, response) => this.#take(request, response));
  readonly #readsBodies: boolean;
  #port = 0;
  serve: (asked: Asked, request: IncomingMessage, response: ServerResponse) => unknown = (_, __, response) =>
    response.writeHead(404).end();

  private constructor(readsBodies: boolean) {
    this.#readsBodies = readsBodies;
  }

  /** `readsBodies` is false for a site that passes its requests on unread. */
  static async start(readsBodies = true): Promise<Site> {
    const site = new Site(readsBodies);
    await site.open();
    onTestFinished(() => site.stop());
    return site;
  }

  get origin(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Listens again on the same port after it was stopped. */
  async open(): Promise<void> {
    if (this.#server.listening) return;
    this.#server.listen(this.#port, "127.0.0.1");
    await once(this.#server, "listening");
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  askedFor(path: string): Asked[] {
    return this.asked.filter((one) => one.path === path);
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", headers } = request;
    const url = new URL(request.url ?? "", this.origin);
    const body = this.#readsBodies ? await text(request) : "";
    const isForm = headers["content-type"]?.startsWith("application/x-www-form-urlencoded") === true;
    const form = new URLSearchParams(isForm ? body : "");
    const asked = { method, path: url.pathname, query: url.searchParams, headers, form, body };
    this.asked.push(asked);
    const answer = await (this.instead.get(asked.path) ?? this.instead.get("*"))?.(asked);
    if (answer === "hang up") request.socket.destroy();
    else if (answer) send(response, answer);
    else await this.serve(asked, request, response);
  }
}

export function send(response: ServerResponse, { status = 200, headers = {}, body }: Answer): void {
  const json = body === undefined ? {} : { "content-type": "application/json" };
  response.writeHead(status, { ...json, ...headers }).end(body === undefined ? undefined : JSON.stringify(body));
}

/** Resolves when a condition holds; it is checked in every turn of the event loop. */
export async function until(condition: () => unknown): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 2));
}

/** Returns the error that a promise rejects with. */
export async function reasonOf(attempt: Promise<unknown>): Promise<Error & { code?: string; error?: string }> {
  return attempt.then(
    (value) => {
      throw new Error(`expected a failure, got ${JSON.stringify(value)}`);
    },
    (reason) => reason,
  );
}

/** A clock that tests advance. */
export class TestClock {
  ahead = 0;
  readonly now = (): number => Date.now() + this.ahead;

  pass(ms: number): void {
    this.ahead += ms;
  }
}

export const hour = 60 * 60_000;
