import { nameOf, PortolanError } from "../../errors.ts";
import type { RequestId, RpcNotification, RpcRequest, RpcResponse } from "../../jsonrpc/message.ts";
import { HandshakeWanted, type LinkEvents, type ResponseSink } from "../channel-link.ts";
import { systemClock } from "../deadlines.ts";
import { type ExchangeOwner, HttpExchange } from "./exchange.ts";
import type { HttpFailure } from "./failure.ts";
import type { SseLink } from "./http-sse.ts";
import type { Head, HttpLink, HttpLinkOptions, Transport } from "./options.ts";
import { HttpRequests, versionOf } from "./requests.ts";
import { HttpSender } from "./send.ts";
import type { HttpSession } from "./session.ts";
import type { ToolHeaders } from "./tool-headers.ts";

const defaultMaxBytes = 64 * 1024 * 1024;
/** Three times the pause between keep-alives that servers are advised to make. */
const defaultIdleStreamMs = 45_000;
const headerMismatch = -32020;

/** A link to the server at an http or https address, whichever era and transport it speaks. */
export function http(url: string | URL, options: HttpLinkOptions = {}): HttpLink {
  return new HttpClientLink(toAddress(url), options);
}

function toAddress(url: string | URL): URL {
  const address = URL.canParse(url) ? new URL(url) : undefined;
  if (!address || (address.protocol !== "http:" && address.protocol !== "https:")) {
    throw new PortolanError("invalid-argument", `url: expected an http or https address, got ${nameOf(String(url))}`);
  }
  if (address.username !== "" || address.password !== "") {
    throw new PortolanError("invalid-argument", "url: expected an address without credentials; send them as headers");
  }
  address.hash = "";
  return address;
}

async function loadTransport(fetch: typeof globalThis.fetch | undefined): Promise<Transport> {
  if (fetch) return (await import("./fetch.ts")).createTransport(fetch);
  return (await import("#client-http")).createTransport();
}

class HttpClientLink implements HttpLink, ExchangeOwner {
  readonly silenceMeans = "outage";
  readonly #url: URL;
  readonly #options: HttpLinkOptions;
  #traffic: HttpRequests | undefined;
  /** There since the first handshake. */
  #session: HttpSession | undefined;
  /** There while the server is spoken to over HTTP+SSE. */
  #older: SseLink | undefined;
  #closings = 0;
  #closing: Promise<void> | undefined;

  constructor(url: URL, options: HttpLinkOptions) {
    this.#url = url;
    this.#options = options;
  }

  get sessionId(): string | undefined {
    return this.#traffic?.identity.sessionId;
  }

  async open(events: LinkEvents): Promise<void> {
    if (this.#traffic) throw new PortolanError("invalid-argument", "open: the link is open already");
    const closings = this.#closings;
    const transport = await loadTransport(this.#options.fetch);
    await this.#closing;
    if (closings !== this.#closings || this.#traffic) {
      throw new PortolanError("connection-closed", "The link was closed before it opened");
    }
    const { maxResponseBytes = defaultMaxBytes, clock = systemClock } = this.#options;
    const { maxEventChars = maxResponseBytes, idleStreamMs = defaultIdleStreamMs } = this.#options;
    const limits = { maxResponseBytes, maxEventChars, idleStreamMs };
    const held = (isHeld: boolean) => events.held?.(isHeld);
    const sender = new HttpSender(transport, { ...this.#options, server: this.#url, held });
    const traffic = new HttpRequests(this.#url, sender, events, clock, limits);
    this.#traffic = traffic;
    if (this.#options.legacySse !== true) return;
    try {
      await this.#speakSse(traffic);
    } catch (reason) {
      this.#traffic = undefined;
      transport.close();
      throw reason;
    }
  }

  exchange(request: RpcRequest, sink: ResponseSink): void {
    const traffic = this.#traffic;
    if (!traffic) {
      sink.failed(new PortolanError("connection-closed", "The connection is closed"));
      return;
    }
    if (this.#older?.isOpen) {
      if (versionOf(request.params) === undefined) this.#older.exchange(request, sink);
      else
        sink.failed(new HandshakeWanted("http-status", "A server that is spoken to over HTTP+SSE wants a handshake"));
      return;
    }
    const exchange = new HttpExchange(traffic, this, request, sink);
    traffic.waiting.set(request.id, exchange);
    if (exchange.isStateless) exchange.send();
    else if (request.method === "initialize") this.#greet(traffic, exchange).catch((reason) => exchange.fail(reason));
    else if (this.#session) this.#session.whenReady(() => exchange.send());
    else exchange.send();
  }

  cancel(id: RequestId, reason: string): void {
    if (this.#older?.isOpen) {
      this.#older.cancel(id, reason);
      return;
    }
    const exchange = this.#traffic?.waiting.get(id);
    if (!(exchange instanceof HttpExchange)) return;
    if (exchange.isStateless || !exchange.isSent || exchange.request.method === "initialize") {
      exchange.disconnect();
      return;
    }
    // To a server with sessions a closed connection says nothing: it is told first.
    exchange.silence();
    const params = { requestId: id, reason };
    this.#traffic?.post({ jsonrpc: "2.0", method: "notifications/cancelled", params }, () => exchange.disconnect());
  }

  notify(notification: RpcNotification): void {
    const traffic = this.#traffic;
    if (!traffic) return;
    const post = () =>
      traffic.post(notification, (failure) => {
        if (failure) traffic.odd(failure.message);
      });
    if (this.#older?.isOpen) this.#older.notify(notification);
    else if (!this.#session) post();
    else if (notification.method === "notifications/initialized") this.#session.complete(notification);
    else this.#session.whenReady(post);
  }

  close(): Promise<void> {
    this.#closings += 1;
    if (this.#traffic) {
      this.#closing = this.#lose(this.#traffic, new PortolanError("connection-closed", "The connection was closed"));
    }
    return this.#closing ?? Promise.resolve();
  }

  answered(exchange: HttpExchange, response: RpcResponse, head: Head): boolean {
    const { request, isStateless } = exchange;
    const traffic = this.#traffic;
    if (!traffic) return false;
    if ("result" in response) {
      if (request.method === "initialize" && !isStateless) this.#session?.begin(request, response.result, head);
      if (request.method !== "tools/list" || !isStateless) return false;
      this.#toolHeaders(traffic).then(
        (tools) => {
          tools.learn(response.result);
          exchange.settle(response);
        },
        (reason) => exchange.fail(reason),
      );
      return true;
    }
    const isMismatch = response.error.code === headerMismatch && request.method === "tools/call" && isStateless;
    if (!isMismatch || exchange.wasMended) return false;
    exchange.wasMended = true;
    const sendAgain = () => exchange.send();
    this.#toolHeaders(traffic)
      .then((tools) => tools.lookUp(request))
      .then(sendAgain, sendAgain);
    return true;
  }

  sessionLost(exchange: HttpExchange, failure: Error): void {
    const session = this.#session;
    if (!session || exchange.wasMoved) {
      exchange.fail(failure);
      return;
    }
    const renewal = session.renew(exchange.sessionId);
    if (exchange.wasResumed) {
      renewal.catch((reason: Error) => this.#traffic?.odd(reason.message));
      exchange.fail(failure);
      return;
    }
    exchange.wasMoved = true;
    renewal.then(
      () => exchange.send(),
      (reason) => exchange.fail(reason),
    );
  }

  handshakeRefused(exchange: HttpExchange, failure: HttpFailure, answer: unknown): void {
    const traffic = this.#traffic;
    if (!traffic || this.#options.legacySse === false) {
      if (answer === undefined) exchange.fail(failure);
      else exchange.receive(answer);
      return;
    }
    this.#speakSse(traffic).then(
      () => {
        if (exchange.isOver) return;
        exchange.silence();
        this.#older?.exchange(exchange.request, exchange.sink);
      },
      (reason: Error) => {
        if (answer !== undefined) {
          exchange.receive(answer);
          return;
        }
        const why = `${failure.message}; and it does not speak HTTP+SSE: ${reason.message}`;
        exchange.fail(new PortolanError("http-status", why, { cause: failure }));
      },
    );
  }

  /** A handshake goes out when what keeps its session is there. */
  async #greet(traffic: HttpRequests, exchange: HttpExchange): Promise<void> {
    const { HttpSession } = await import("./session.ts");
    if (traffic.isClosed) return;
    this.#session ??= new HttpSession(traffic, (request) => this.#ask(traffic, request));
    this.#session.reset();
    exchange.send();
  }

  async #toolHeaders(traffic: HttpRequests): Promise<ToolHeaders> {
    const { ToolHeaders } = await import("./tool-headers.ts");
    traffic.tools ??= new ToolHeaders(traffic, (request) => this.#ask(traffic, request));
    return traffic.tools;
  }

  /** From here on everything goes over the two endpoints of HTTP+SSE. */
  async #speakSse(traffic: HttpRequests): Promise<void> {
    const { SseLink } = await import("./http-sse.ts");
    if (traffic.isClosed) throw new PortolanError("connection-closed", "The connection was closed");
    this.#older = new SseLink(traffic, (reason) => {
      this.#closing = this.#lose(traffic, reason);
    });
    await this.#older.open();
  }

  /** Everybody who waits hears why, then the client does; what is left is released. */
  async #lose(traffic: HttpRequests, reason: Error): Promise<void> {
    if (this.#traffic !== traffic) return this.#closing;
    const session = this.#session;
    const older = this.#older;
    this.#traffic = undefined;
    this.#session = undefined;
    this.#older = undefined;
    traffic.close();
    traffic.sender.giveUp(reason);
    await older?.close();
    for (const waiting of traffic.waiting.values()) waiting.fail(reason);
    traffic.events.lost(reason);
    await session?.close();
    traffic.sender.transport.close();
  }

  #ask(traffic: HttpRequests, request: RpcRequest): Promise<RpcResponse> {
    return new Promise((response, failed) => {
      const exchange = new HttpExchange(traffic, this, request, { response, failed });
      traffic.waiting.set(request.id, exchange);
      exchange.send();
    });
  }
}
