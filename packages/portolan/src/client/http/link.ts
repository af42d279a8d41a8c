import { nameOf, PortolanError } from "../../errors.ts";
import type { RequestId, RpcNotification, RpcRequest, RpcResponse } from "../../jsonrpc/message.ts";
import { checkNumbers, checkOptions, type OptionNames } from "../../options.ts";
import { protocolCodes } from "../../protocol/errors.ts";
import { HandshakeWanted, type LinkEvents, type ResponseSink } from "../channel-link.ts";
import { systemClock } from "../deadlines.ts";
import { type ExchangeOwner, HttpExchange } from "./exchange.ts";
import type { HttpFailure } from "./failure.ts";
import type { SseLink } from "./http-sse.ts";
import { defaultIdleStreamMs, defaultMaxResponseBytes } from "./limits.ts";
import type { Head, HttpLink, HttpLinkOptions, Transport } from "./options.ts";
import { HttpRequests, versionOf } from "./requests.ts";
import { HttpSender } from "./send.ts";
import type { HttpSession } from "./session.ts";
import type { ToolHeaders } from "./tool-headers.ts";

/** Creates a link to the server at an http or https address, of any era and HTTP transport. */
export function http(url: string | URL, options: HttpLinkOptions = {}): HttpLink {
  checkOptions(options, linkOptions, "http");
  checkNumbers(options, "maxResponseBytes", "maxEventChars", "idleStreamMs");
  const { auth } = options;
  if (auth !== undefined && typeof auth?.authorize !== "function") {
    throw new PortolanError(
      "invalid-argument",
      "auth: expected oauth(…) or an object with `authorize`; a fixed token is a header: http(url, { headers })",
    );
  }
  return new HttpClientLink(toAddress(url), options);
}

const linkOptions = {
  headers: 1,
  auth: 1,
  fetch: 1,
  maxResponseBytes: 1,
  maxEventChars: 1,
  idleStreamMs: 1,
  legacySse: 1,
  clock: 1,
} satisfies OptionNames<HttpLinkOptions>;

function toAddress(url: string | URL): URL {
  const address = URL.canParse(url) ? new URL(url) : undefined;
  if (!address || (address.protocol !== "http:" && address.protocol !== "https:")) {
    throw new PortolanError(
      "invalid-argument",
      `url: expected an http or https address, got ${nameOf(String(url))}; write { command, args } to start a program`,
    );
  }
  if (address.username || address.password) {
    throw new PortolanError(
      "invalid-argument",
      "url: expected an address without user name and password; send them in headers",
    );
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
  readonly url: URL;
  readonly #options: HttpLinkOptions;
  #requests: HttpRequests | undefined;
  /** Defined since the first handshake. */
  #session: HttpSession | undefined;
  /** Defined while the server is used over HTTP+SSE. */
  #sseLink: SseLink | undefined;
  #closings = 0;
  #closing: Promise<void> | undefined;

  constructor(url: URL, options: HttpLinkOptions) {
    this.url = url;
    this.#options = options;
  }

  get sessionId(): string | undefined {
    return this.#requests?.identity.sessionId;
  }

  async open(events: LinkEvents): Promise<void> {
    if (this.#requests) throw new PortolanError("invalid-argument", "open: the link is already open");
    const closings = this.#closings;
    const transport = await loadTransport(this.#options.fetch);
    await this.#closing;
    if (closings !== this.#closings || this.#requests) {
      throw new PortolanError("connection-closed", "The connection was closed");
    }
    const { maxResponseBytes = defaultMaxResponseBytes, clock = systemClock } = this.#options;
    const { maxEventChars = maxResponseBytes, idleStreamMs = defaultIdleStreamMs } = this.#options;
    const limits = { maxResponseBytes, maxEventChars, idleStreamMs };
    const onLogin = (isOpen: boolean) => events.login?.(isOpen);
    const sender = new HttpSender(events.tap?.watch(transport) ?? transport, {
      ...this.#options,
      server: this.url,
      onLogin,
    });
    const requests = new HttpRequests(this.url, sender, events, clock, limits);
    this.#requests = requests;
    requests.answer = (response, sessionId) =>
      this.#loadSession(requests).then(
        (session) => session?.answer(response, sessionId),
        (reason) => requests.invalid(reason.message),
      );
    if (this.#options.legacySse !== true) return;
    try {
      await this.#openSseLink(requests);
    } catch (reason) {
      this.#requests = undefined;
      transport.close();
      throw reason;
    }
  }

  exchange(request: RpcRequest, sink: ResponseSink): void {
    const requests = this.#requests;
    if (!requests) {
      sink.failed(new PortolanError("connection-closed", "The connection is closed"));
      return;
    }
    if (this.#sseLink?.isOpen) {
      if (versionOf(request.params) === undefined) this.#sseLink.exchange(request, sink);
      else sink.failed(new HandshakeWanted("http-status", "HTTP+SSE needs a handshake"));
      return;
    }
    const exchange = new HttpExchange(requests, this, request, sink);
    requests.pending.set(request.id, exchange);
    if (exchange.isStateless) exchange.send();
    else if (request.method === "initialize")
      this.#initialize(requests, exchange).catch((reason) => exchange.fail(reason));
    else if (this.#session) this.#session.whenReady(() => exchange.send());
    else exchange.send();
  }

  cancel(id: RequestId, reason: string): void {
    if (this.#sseLink?.isOpen) {
      this.#sseLink.cancel(id, reason);
      return;
    }
    const exchange = this.#requests?.pending.get(id);
    if (!(exchange instanceof HttpExchange)) return;
    if (exchange.isStateless || !exchange.isSent || exchange.request.method === "initialize") {
      exchange.disconnect();
      return;
    }
    // A stateful server does not take a closed connection for a cancellation: notify it first.
    exchange.detach();
    const params = { requestId: id, reason };
    this.#requests?.post({ jsonrpc: "2.0", method: "notifications/cancelled", params }, () => exchange.disconnect());
  }

  notify(notification: RpcNotification): void {
    const requests = this.#requests;
    if (!requests) return;
    const post = () =>
      requests.post(notification, (failure) => {
        if (failure) requests.invalid(failure.message);
      });
    if (this.#sseLink?.isOpen) this.#sseLink.notify(notification);
    else if (!this.#session) post();
    else if (notification.method === "notifications/initialized") this.#session.complete(notification);
    else this.#session.whenReady(post);
  }

  close(): Promise<void> {
    this.#closings += 1;
    if (this.#requests) this.#lose(this.#requests, new PortolanError("connection-closed", "The connection was closed"));
    return this.#closing ?? Promise.resolve();
  }

  answered(exchange: HttpExchange, response: RpcResponse, head: Head): boolean {
    const { request, isStateless } = exchange;
    const requests = this.#requests;
    if (!requests) return false;
    if ("result" in response) {
      if (request.method === "initialize" && !isStateless) this.#session?.begin(request, response.result, head);
      if (request.method !== "tools/list" || !isStateless) return false;
      this.#toolHeaders(requests).then(
        (tools) => {
          tools.learn(response.result);
          exchange.settle(response);
        },
        (reason) => exchange.fail(reason),
      );
      return true;
    }
    const isMismatch =
      response.error.code === protocolCodes.headerMismatch && request.method === "tools/call" && isStateless;
    if (!isMismatch || exchange.hasFreshHeaders) return false;
    exchange.hasFreshHeaders = true;
    const sendAgain = () => exchange.send();
    this.#toolHeaders(requests)
      .then((tools) => tools.refresh(request))
      .then(sendAgain, sendAgain);
    return true;
  }

  sessionLost(exchange: HttpExchange, failure: Error): void {
    if (this.#session && !exchange.wasMoved) this.#session.moveOrFail(exchange, failure);
    else exchange.fail(failure);
  }

  handshakeRefused(exchange: HttpExchange, failure: HttpFailure, answer: unknown): void {
    const requests = this.#requests;
    // A 404 means a wrong path, whatever its body says.
    const fail = (reason: Error) => {
      if (answer === undefined || failure.status === 404) exchange.fail(reason);
      else exchange.receive(answer);
    };
    if (!requests || this.#options.legacySse === false) {
      fail(failure);
      return;
    }
    this.#openSseLink(requests, { handshake: exchange, failure }).catch(fail);
  }

  async #initialize(requests: HttpRequests, exchange: HttpExchange): Promise<void> {
    const session = await this.#loadSession(requests);
    session?.reset();
    if (session) exchange.send();
  }

  /** Loads the session before a handshake or an answer is sent. Returns undefined if the link was closed meanwhile. */
  async #loadSession(requests: HttpRequests): Promise<HttpSession | undefined> {
    const { HttpSession } = await import("./session.ts");
    if (requests.isClosed) return undefined;
    this.#session ??= new HttpSession(
      requests,
      (request) => this.#sendNow(requests, request),
      (reason) => this.#lose(requests, reason),
    );
    return this.#session;
  }

  async #toolHeaders(requests: HttpRequests): Promise<ToolHeaders> {
    const { ToolHeaders } = await import("./tool-headers.ts");
    requests.tools ??= new ToolHeaders(requests, (request) => this.#sendNow(requests, request));
    return requests.tools;
  }

  /** Switches to HTTP+SSE for all further messages. */
  async #openSseLink(requests: HttpRequests, ...refusal: Parameters<SseLink["open"]>): Promise<void> {
    const { SseLink } = await import("./http-sse.ts");
    if (requests.isClosed) throw new PortolanError("connection-closed", "The connection was closed");
    this.#sseLink = new SseLink(requests, (reason) => this.#lose(requests, reason));
    await this.#sseLink.open(...refusal);
  }

  #lose(requests: HttpRequests, reason: Error): void {
    this.#closing = this.#end(requests, reason);
  }

  /** Fails the pending requests, then reports the loss, then releases everything. */
  async #end(requests: HttpRequests, reason: Error): Promise<void> {
    if (this.#requests !== requests) return this.#closing;
    const session = this.#session;
    const older = this.#sseLink;
    this.#requests = undefined;
    this.#session = undefined;
    this.#sseLink = undefined;
    requests.close();
    requests.sender.abortLogins(reason);
    await older?.close();
    for (const exchange of requests.pending.values()) exchange.fail(reason);
    requests.events.lost(reason);
    await session?.close();
    requests.sender.transport.close();
  }

  #sendNow(requests: HttpRequests, request: RpcRequest): Promise<RpcResponse> {
    return new Promise((response, failed) => {
      const exchange = new HttpExchange(requests, this, request, { response, failed });
      requests.pending.set(request.id, exchange);
      exchange.send();
    });
  }
}
