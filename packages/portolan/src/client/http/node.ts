import { isUtf8 } from "node:buffer";
import * as http from "node:http";
import * as https from "node:https";
import { idleConnectionMs, maxTimerMs, tcpKeepAliveMs } from "./limits.ts";
import type { Head, Receiver, Transport, TransportRequest } from "./options.ts";

const agentOptions = { keepAlive: true, keepAliveMsecs: tcpKeepAliveMs, timeout: idleConnectionMs };

/** Creates a transport over `node:http` that reuses connections. */
export function createTransport(): Transport {
  return new NodeTransport();
}

/** The parts of an address that `node:http` needs. */
interface Route {
  readonly request: typeof http.request;
  readonly agent: http.Agent;
  readonly hostname: string;
  readonly port: string;
  readonly path: string;
}

class NodeTransport implements Transport {
  readonly hidesRefusals = false;
  readonly #http = new http.Agent(agentOptions);
  #https: https.Agent | undefined;
  readonly #routes = new WeakMap<URL, Route>();

  send(request: TransportRequest, receiver: Receiver): () => void {
    const exchange = new NodeExchange(receiver);
    exchange.start(request, this.#routeTo(request.url));
    return () => exchange.cancel();
  }

  hold(): () => void {
    const timer = setInterval(() => {}, maxTimerMs);
    return () => clearInterval(timer);
  }

  close(): void {
    this.#http.destroy();
    this.#https?.destroy();
  }

  // Hot path: parsing an address costs more than looking it up.
  #routeTo(url: URL): Route {
    let route = this.#routes.get(url);
    if (!route) {
      const hostname = url.hostname.replace(/^\[|\]$/g, "");
      const path = url.pathname + url.search;
      const { request } = url.protocol === "http:" ? http : https;
      route = { request, agent: this.#agentFor(url), hostname, port: url.port, path };
      this.#routes.set(url, route);
    }
    return route;
  }

  #agentFor(url: URL): http.Agent {
    if (url.protocol === "http:") return this.#http;
    this.#https ??= new https.Agent(agentOptions);
    return this.#https;
  }
}

class NodeExchange {
  readonly #receiver: Receiver;
  #request: http.ClientRequest | undefined;
  #hasHead = false;
  #isOver = false;
  /** Created when a chunk ends inside a character. */
  #decoder: TextDecoder | undefined;

  constructor(receiver: Receiver) {
    this.#receiver = receiver;
  }

  start({ method, headers, body }: TransportRequest, { request, agent, hostname, port, path }: Route): void {
    const all = { ...headers, "accept-encoding": "identity" };
    const options: http.RequestOptions = { method, agent, hostname, port, path, headers: all };
    try {
      this.#request = request(options, (response) => this.#respond(response));
    } catch (reason) {
      // An invalid header. Reported later, like every other failure.
      process.nextTick(() => this.#fail(reason as Error));
      return;
    }
    this.#request.on("error", (reason: NodeJS.ErrnoException) => {
      const isReset = reason.code === "ECONNRESET" || reason.code === "EPIPE";
      const wasStale = isReset && !this.#hasHead && this.#request?.reusedSocket === true;
      // The others may have been closed with it, and the next attempt is the last one: it gets a new connection.
      if (wasStale) for (const idle of Object.values(agent.freeSockets).flat()) idle?.destroy();
      this.#fail(reason, wasStale);
    });
    this.#request.end(body);
  }

  cancel(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#request?.destroy();
  }

  #respond(response: http.IncomingMessage): void {
    if (this.#isOver) {
      response.destroy();
      return;
    }
    this.#hasHead = true;
    response.on("data", (chunk: Buffer) => this.#read(chunk));
    response.on("end", () => this.#end());
    response.on("error", (reason) => this.#fail(reason));
    response.on("close", () => {
      if (!this.#isOver) this.#fail(new Error("the connection was closed during the response"));
    });
    this.#receiver.head(new NodeHead(response));
  }

  // Hot path: most chunks end with a whole character and need no streaming decoder.
  #read(chunk: Buffer): void {
    if (this.#isOver) return;
    if (!this.#decoder && isUtf8(chunk)) {
      this.#receiver.text(chunk.toString(), chunk.length);
      return;
    }
    this.#decoder ??= new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    let text: string;
    try {
      text = this.#decoder.decode(chunk, { stream: true });
    } catch {
      this.#abandon("the response is not UTF-8");
      return;
    }
    this.#receiver.text(text, chunk.length);
  }

  #end(): void {
    if (this.#isOver) return;
    try {
      this.#decoder?.decode();
    } catch {
      this.#abandon("the response is not UTF-8");
      return;
    }
    this.#isOver = true;
    this.#receiver.end();
  }

  #abandon(why: string): void {
    this.#request?.destroy();
    this.#fail(new Error(why));
  }

  #fail(reason: Error, wasStale = false): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#receiver.failed(reason, wasStale);
  }
}

class NodeHead implements Head {
  readonly #response: http.IncomingMessage;

  constructor(response: http.IncomingMessage) {
    this.#response = response;
  }

  get status(): number {
    return this.#response.statusCode ?? 0;
  }

  get headers(): http.IncomingHttpHeaders {
    return this.#response.headers;
  }

  header(name: string): string | undefined {
    const value = this.#response.headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  }
}
