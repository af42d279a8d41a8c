import { nameOf, PortolanError } from "../errors.ts";
import { elementsOf } from "../jsonrpc/elements.ts";
import {
  checkMessage,
  type Message,
  type RequestId,
  type RpcNotification,
  type RpcRequest,
  type RpcResponse,
  serialize,
} from "../jsonrpc/message.ts";
import type { Link, LinkEvents, LinkTap, ResponseSink } from "./channel-link.ts";
import type { ClientConnection } from "./connection.ts";
import { toError } from "./failures.ts";
import type { Transport, TransportRequest } from "./http/options.ts";
import { TappedTransport, type ToldExchange } from "./http/tapped-transport.ts";
import { maxTappedInvalidChars, maxTappedQuestions } from "./limits.ts";
import type { Tap, TapEvent } from "./options.ts";

// Loaded late: only clients with a tap need it, and no other call pays for it.

/** A tap's event before it has its time and its call. */
export type Told = TapEvent extends infer Event ? (Event extends TapEvent ? Omit<Event, "at" | "call"> : never) : never;

/** Returns a link that tells the tap of everything that passes it. `connection` knows the calls under way. */
export function tapLink(link: Link, tap: Tap, connection: () => ClientConnection): Link {
  if (typeof tap === "function") return new TappedLink(link, tap, connection);
  throw new PortolanError("invalid-argument", `tap: expected a function, got ${nameOf(tap)}`);
}

/**
 * Stands between a connection and its link. A transport that writes text tells the text itself, by `LinkEvents.tap`; the
 * messages of any other link are written as JSON here.
 */
class TappedLink implements Link, LinkEvents, LinkTap {
  exchangeText: Link["exchangeText"];
  readonly #link: Link;
  readonly #tap: Tap;
  readonly #connection: () => ClientConnection;
  #events: LinkEvents | undefined;
  /** True once the transport has told a text that it sent: it will tell all others. */
  #hearsSent = false;
  /** The same of texts that it received. */
  #hearsReceived = false;
  #isClosing = false;
  #isOver = false;
  #exchanges = 0;
  /** The HTTP exchange whose response is being read. */
  #exchange: ToldExchange | undefined;
  /** The call in whose name something is sent that does not name it. */
  #sending: string | undefined;
  /** The calls of questions that wait for an answer. */
  readonly #questions = new Map<RequestId, string>();
  /** The reason of invalid input that was told with its text; true for whatever follows from it at once. */
  #toldReason: string | true | undefined;

  constructor(link: Link, tap: Tap, connection: () => ClientConnection) {
    this.#link = link;
    this.#tap = tap;
    this.#connection = connection;
  }

  get tap(): LinkTap {
    return this;
  }

  get silenceMeans(): "handshake" | "outage" {
    return this.#link.silenceMeans ?? "handshake";
  }

  async recentOutput(): Promise<string> {
    return (await this.#link.recentOutput?.()) ?? "";
  }

  async open(events: LinkEvents): Promise<void> {
    this.#events = events;
    this.#isClosing = this.#isOver = false;
    await this.#link.open(this);
    if (this.#link.exchangeText) {
      this.exchangeText = (id, text, sink) =>
        this.#send(
          (told) => this.#link.exchangeText?.(id, text, told),
          () => text,
          sink,
        );
    }
    this.tell({ kind: "link", state: "open" });
  }

  exchange(request: RpcRequest, sink: ResponseSink): void {
    this.#send(
      (told) => this.#link.exchange(request, told),
      () => serialize(request),
      sink,
    );
  }

  cancel(id: RequestId, reason: string): void {
    const params = { requestId: id, reason };
    this.#sendInNameOf(this.#labelOf(id), () => this.#link.cancel(id, reason), {
      ...{ jsonrpc: "2.0", method: "notifications/cancelled", params },
    });
  }

  notify(notification: RpcNotification): void {
    this.#sendInNameOf(undefined, () => this.#link.notify(notification), notification);
  }

  close(): Promise<void> {
    this.#isClosing = true;
    return this.#link.close();
  }

  request(request: RpcRequest, answer: (response: RpcResponse) => void, during?: RequestId): void {
    const label = during === undefined ? undefined : this.#labelOf(during);
    if (label !== undefined) this.#note(request.id, label);
    if (!this.#hearsReceived) this.#tellReceived(serialize(request), request);
    this.#events?.request(
      request,
      (response) => this.#sendInNameOf(undefined, () => answer(response), response),
      during,
    );
  }

  notification(notification: RpcNotification): void {
    if (!this.#hearsReceived) this.#tellReceived(serialize(notification), notification);
    this.#events?.notification(notification);
  }

  invalid(why: string): void {
    const wasTold = this.#toldReason === why || (this.#toldReason === true && this.#exchange !== undefined);
    this.#toldReason = undefined;
    if (!wasTold) this.tell({ kind: "invalid", text: "", reason: why });
    this.#events?.invalid(why);
  }

  renewed(): void {
    this.tell({ kind: "link", state: "renewed" });
    this.#events?.renewed?.();
  }

  interrupted(): void {
    this.tell({ kind: "link", state: "interrupted" });
    this.#events?.interrupted?.();
  }

  login(isOpen: boolean): void {
    this.tell({ kind: "link", state: isOpen ? "login" : "open" });
    this.#events?.login?.(isOpen);
  }

  lost(reason: Error): void {
    this.tell({ kind: "link", state: this.#isClosing ? "closed" : "lost", reason: reason.message });
    this.#isOver = true;
    this.#questions.clear();
    this.#events?.lost(reason);
  }

  sent(text: string): void {
    this.#hearsSent = true;
    this.#tellSent(text);
  }

  received(text: string, value: unknown, why?: string): void {
    this.#hearsReceived = true;
    this.#toldReason = undefined;
    if (value !== undefined) this.#tellReceived(text, value);
    else if (why !== undefined || text.trim() !== "") this.#refuse(text, why);
  }

  stderr(line: string): void {
    this.tell({ kind: "stderr", line });
  }

  watch(transport: Transport): Transport {
    this.#hearsSent = this.#hearsReceived = true;
    return new TappedTransport(transport, this);
  }

  /** Numbers an HTTP exchange, and returns the label of the call whose message it carries. */
  beginExchange({ body }: TransportRequest): ToldExchange {
    this.#exchanges += 1;
    return { number: this.#exchanges, call: body === undefined ? undefined : this.#labelOfSent(body) };
  }

  /** Tells the message that an HTTP exchange carries. */
  sentIn(exchange: ToldExchange, text: string): void {
    this.tell({ kind: "message", from: "client", text, exchange: exchange.number }, exchange.call);
  }

  /** Reads a part of the response of an HTTP exchange. Messages that are received meanwhile are messages of it. */
  readIn(exchange: ToldExchange, read: () => void): void {
    const outer = this.#exchange;
    this.#exchange = exchange;
    try {
      read();
    } finally {
      this.#exchange = outer;
      if (this.#toldReason === true) this.#toldReason = undefined;
    }
  }

  /** Calls the tap. One that fails is reported, and never fails a call. */
  tell(event: Told, call?: string): void {
    if (this.#isOver && event.kind !== "http" && event.kind !== "stderr") return;
    const at = performance.timeOrigin + performance.now();
    const report = (thrown: unknown) => this.#connection().report(toError(thrown));
    try {
      const result: unknown = this.#tap(call === undefined ? { at, ...event } : { at, call, ...event });
      if (result instanceof Promise) result.catch(report);
    } catch (thrown) {
      report(thrown);
    }
  }

  #send(send: (sink: ResponseSink) => void, text: () => string, sink: ResponseSink): void {
    const told = this.#hearsReceived ? sink : new ToldSink(sink, (response) => this.#responded(response));
    this.#tellAfter(() => send(told), text);
  }

  #responded(response: RpcResponse): void {
    if (!this.#hearsReceived) this.#tellReceived(serialize(response), response);
  }

  #sendInNameOf(label: string | undefined, send: () => void, message: RpcNotification | RpcResponse): void {
    this.#sending = label;
    try {
      this.#tellAfter(send, () => serialize(message));
    } finally {
      this.#sending = undefined;
    }
  }

  /** Sends a message, and tells it unless the transport did. */
  #tellAfter(send: () => void, text: () => string): void {
    send();
    if (this.#hearsSent) return;
    try {
      this.#tellSent(text());
    } catch (reason) {
      // A message that has no JSON form is the sender's problem, not the tap's.
      this.tell({ kind: "invalid", text: "", reason: toError(reason).message });
    }
  }

  #tellSent(text: string): void {
    this.tell({ kind: "message", from: "client", text }, this.#labelOfSent(text) ?? this.#sending);
  }

  #tellReceived(text: string, value: unknown): void {
    if (!Array.isArray(value)) this.#tellOne(text, value);
    else for (const [index, element] of elementsOf(text).entries()) this.#tellOne(element, value[index]);
  }

  #tellOne(text: string, value: unknown): void {
    const problem = checkMessage(value);
    if (problem) {
      this.#refuse(text, problem.why);
      return;
    }
    const label = this.#labelOfReceived(value as Message) ?? this.#exchange?.call;
    const exchange = this.#exchange && { exchange: this.#exchange.number };
    this.tell({ kind: "message", from: "server", text, ...exchange }, label);
  }

  #refuse(text: string, why: string | undefined): void {
    this.#toldReason = why ?? true;
    this.tell({ kind: "invalid", text: text.slice(0, maxTappedInvalidChars), reason: why ?? "the text is not JSON" });
  }

  #labelOf(id: unknown): string | undefined {
    return this.#connection().calls.get(id as RequestId)?.options.label;
  }

  /** Our own serializer writes the id first: nothing is parsed to find it. */
  #labelOfSent(text: string): string | undefined {
    const [, idText, member] = /^\{"jsonrpc":"2\.0","id":(-?\d+|"(?:[^"\\]|\\.)*"),"(\w+)"/.exec(text) ?? [];
    if (idText === undefined) return undefined;
    const id = JSON.parse(idText) as RequestId;
    if (member === "method") return this.#labelOf(id);
    const label = this.#questions.get(id);
    this.#questions.delete(id);
    return label;
  }

  #labelOfReceived(message: Message): string | undefined {
    if (!("method" in message)) return this.#labelOf(message.id);
    if (!("id" in message)) {
      const { params } = message;
      return this.#labelOf(params?.["progressToken"] ?? params?.["requestId"]);
    }
    const label = this.#exchange?.call ?? this.#questions.get(message.id) ?? this.#labelOfOnlyCall();
    if (label !== undefined) this.#note(message.id, label);
    return label;
  }

  /** A channel does not tell which call a question belongs to. If one call alone may ask, it is that one. */
  #labelOfOnlyCall(): string | undefined {
    const { profile, calls, revision } = this.#connection();
    const asking = profile && calls.values().filter(({ method }) => revision.requests.get(method)?.runsHandler);
    return asking?.length === 1 ? asking[0]?.options.label : undefined;
  }

  #note(id: RequestId, label: string): void {
    if (this.#questions.size < maxTappedQuestions) this.#questions.set(id, label);
  }
}

/** The receiver of a response that the transport does not tell. */
class ToldSink implements ResponseSink {
  readonly #sink: ResponseSink;
  readonly #told: (response: RpcResponse) => void;

  constructor(sink: ResponseSink, told: (response: RpcResponse) => void) {
    this.#sink = sink;
    this.#told = told;
  }

  response(response: RpcResponse): void {
    this.#told(response);
    this.#sink.response(response);
  }

  failed(reason: Error): void {
    this.#sink.failed(reason);
  }
}
