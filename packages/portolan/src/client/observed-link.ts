import { PortolanError } from "../errors.ts";
import {
  IdTable,
  type JsonObject,
  type RequestId,
  RpcError,
  type RpcNotification,
  type RpcRequest,
  type RpcResponse,
} from "../jsonrpc/message.ts";
import { Call } from "./call.ts";
import type { Link, LinkEvents, ResponseSink } from "./channel-link.ts";
import type { ClientConnection } from "./connection.ts";
import { toError } from "./failures.ts";
import type { HttpLink } from "./http/options.ts";
import type {
  ConnectOptions,
  ObservedRequest,
  ObservedTransport,
  QuestionObservation,
  RequestObservation,
  RequestObserver,
  RequestOutcome,
} from "./options.ts";

// Loaded late: only clients with an observer need it, and no other call pays for it.

/**
 * Returns a link that tells the observer of every request in both directions, also of those that agree on a revision.
 * `bare` is the link to the server, which says how the requests travel.
 */
export function observeLink(link: Link, { observer }: ConnectOptions, bare: Link): Link {
  if (typeof observer?.begin === "function") return new ObservedLink(link, observer, transportOf(bare));
  throw new PortolanError("invalid-argument", "observer: expected an object with `begin`, such as traceClient()");
}

/** Stands between a connection and its link: requests pass it on their way to the server, questions on their way back. */
class ObservedLink implements Link, LinkEvents {
  readonly #link: Link;
  readonly #observer: RequestObserver;
  readonly #transport: ObservedTransport;
  readonly #open = new IdTable<ObservedExchange>();
  /** Ends the observation of each question that is not answered yet. */
  readonly #questions = new IdTable<(outcome: RequestOutcome) => void>();
  #connection: ClientConnection | undefined;
  #sessionVersion = "";
  #endSession: ((error?: Error) => void) | undefined;

  constructor(link: Link, observer: RequestObserver, transport: ObservedTransport) {
    this.#link = link;
    this.#observer = observer;
    this.#transport = transport;
  }

  get silenceMeans(): "handshake" | "outage" {
    return this.#link.silenceMeans ?? "handshake";
  }

  async recentOutput(): Promise<string> {
    return (await this.#link.recentOutput?.()) ?? "";
  }

  open(events: LinkEvents): Promise<void> {
    // `connect` opens its link with nothing else.
    this.#connection = events as ClientConnection;
    return this.#link.open(this);
  }

  exchange(request: RpcRequest, sink: ResponseSink): void {
    const { id, method } = request;
    const observation = this.attempt(() => this.#observer.begin(this.#factsOf(request)));
    const isHandshake = method === "initialize";
    if (!observation && !isHandshake) {
      this.#link.exchange(request, sink);
      return;
    }
    const observed = new ObservedExchange(this, sink, observation, (outcome) => {
      this.#open.delete(id);
      if (isHandshake && "result" in outcome) this.#beginSession(outcome.result["protocolVersion"]);
    });
    this.#open.set(id, observed);
    try {
      const changed = withMeta(request, observation?.meta);
      // A copy has lost the text of verbatim arguments.
      const rewrite = sink instanceof Call ? sink.options.rewrite : undefined;
      this.#link.exchange(rewrite?.(changed) ?? changed, observed);
    } catch (thrown) {
      observed.end({ error: toError(thrown) });
      throw thrown;
    }
  }

  cancel(id: RequestId, reason: string): void {
    this.#link.cancel(id, reason);
    this.#open.get(id)?.cancelled(reason);
  }

  notify(notification: RpcNotification): void {
    this.#link.notify(notification);
  }

  async close(): Promise<void> {
    await this.#link.close();
    this.#sessionEnded();
  }

  request(request: RpcRequest, answer: (response: RpcResponse) => void, during?: RequestId): void {
    const { id } = request;
    const observation = this.attempt(() => this.#observer.beginQuestion?.(this.#factsOf(request)));
    if (!observation) {
      this.#connection?.request(request, answer, during);
      return;
    }
    const end = (outcome: RequestOutcome) => {
      // A server may use an id again for a later question.
      if (this.#questions.get(id) !== end) return;
      this.#questions.delete(id);
      this.attempt(() => observation.end(outcome));
    };
    this.#questions.set(id, end);
    const answerAndEnd = (response: RpcResponse) => {
      end(outcomeOf(response));
      answer(response);
    };
    this.runInside(observation, () => this.#connection?.request(request, answerAndEnd, during));
  }

  notification(notification: RpcNotification): void {
    const { method, params } = notification;
    if (method === "notifications/cancelled") {
      const error = new PortolanError("cancelled", "The server cancelled the question");
      this.#questions.get(params?.["requestId"] as RequestId)?.({ error });
    }
    this.#connection?.notification(notification);
  }

  invalid(why: string): void {
    this.#connection?.invalid(why);
  }

  renewed(): void {
    this.#sessionEnded(new PortolanError("connection-closed", "The server has lost the session"));
    this.#beginSession(this.#sessionVersion);
    this.#connection?.renewed();
  }

  interrupted(): void {
    this.#connection?.interrupted();
  }

  login(isOpen: boolean): void {
    this.#connection?.login(isOpen);
  }

  lost(reason: Error): void {
    for (const end of this.#questions.values()) end({ error: reason });
    this.#sessionEnded(this.#connection?.isClosing ? undefined : reason);
    this.#connection?.lost(reason);
  }

  /** Calls the observer. One that throws is reported, and never fails a call. */
  attempt<T>(call: () => T): T | undefined {
    try {
      return call();
    } catch (thrown) {
      this.#connection?.report(toError(thrown));
      return undefined;
    }
  }

  /** Does work once inside `run` of an observation, also if that throws or forgets it. */
  runInside(observation: QuestionObservation | undefined, work: () => void): void {
    let isDone = false;
    const doOnce = () => {
      if (isDone) return;
      isDone = true;
      work();
    };
    this.attempt(() => observation?.run?.(doOnce));
    doOnce();
  }

  #factsOf({ id, method, params = {} }: RpcRequest): ObservedRequest {
    return { id, method, params, server: this.#connection?.profile, transport: this.#transport };
  }

  /** The version is what the server has agreed to, which is checked after this. */
  #beginSession(version: unknown): void {
    this.#sessionVersion = String(version);
    const session = { version: this.#sessionVersion, transport: this.#transport };
    this.#endSession = this.attempt(() => this.#observer.beginSession?.(session));
  }

  #sessionEnded(error?: Error): void {
    const end = this.#endSession;
    this.#endSession = undefined;
    if (end) this.attempt(() => end(error));
  }
}

/** The receiver of an observed response. */
class ObservedExchange implements ResponseSink {
  readonly #link: ObservedLink;
  readonly #sink: ResponseSink;
  readonly #observation: RequestObservation | undefined;
  readonly #ended: (outcome: RequestOutcome) => void;
  #isOver = false;

  constructor(
    link: ObservedLink,
    sink: ResponseSink,
    observation: RequestObservation | undefined,
    ended: (outcome: RequestOutcome) => void,
  ) {
    this.#link = link;
    this.#sink = sink;
    this.#observation = observation;
    this.#ended = ended;
  }

  response(response: RpcResponse): void {
    this.end(outcomeOf(response));
    this.#link.runInside(this.#observation, () => this.#sink.response(response));
  }

  failed(reason: Error): void {
    this.end({ error: reason });
    this.#sink.failed(reason);
  }

  cancelled(reason: string): void {
    const isTimeout = this.#sink instanceof Call && !this.#sink.options.signal?.aborted;
    this.end({ error: new PortolanError(isTimeout ? "timeout" : "cancelled", reason) });
  }

  end(outcome: RequestOutcome): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#ended(outcome);
    this.#link.attempt(() => this.#observation?.end(outcome));
  }
}

function outcomeOf(response: RpcResponse): RequestOutcome {
  if ("result" in response) return { result: response.result };
  const { code, message, data } = response.error;
  return { error: new RpcError(code, message, { data }) };
}

function withMeta(request: RpcRequest, meta: JsonObject | undefined): RpcRequest {
  if (!meta) return request;
  const { params } = request;
  return { ...request, params: { ...params, _meta: { ...(params?.["_meta"] as JsonObject | undefined), ...meta } } };
}

function transportOf(link: Link): ObservedTransport {
  const { url } = link as Partial<HttpLink>;
  if (url instanceof URL) {
    return {
      kind: "http",
      url,
      get sessionId() {
        return (link as HttpLink).sessionId;
      },
    };
  }
  return { kind: "pid" in link ? "stdio" : "other" };
}
