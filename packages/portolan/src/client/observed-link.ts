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
  ObservedTransport,
  RequestObservation,
  RequestObserver,
  RequestOutcome,
} from "./options.ts";

// Loaded late: only clients with an observer need it, and no other call pays for it.

/** Returns a link that tells the observer of every request, also of those that agree on a revision. */
export function observeLink(link: Link, { observer }: ConnectOptions): Link {
  if (typeof observer?.begin === "function") return new ObservedLink(link, observer);
  throw new PortolanError("invalid-argument", "observer: expected an object with `begin`, such as traceClient()");
}

class ObservedLink implements Link {
  readonly #link: Link;
  readonly #observer: RequestObserver;
  readonly #transport: ObservedTransport;
  readonly #open = new IdTable<ObservedExchange>();
  #connection: ClientConnection | undefined;

  constructor(link: Link, observer: RequestObserver) {
    this.#link = link;
    this.#observer = observer;
    this.#transport = transportOf(link);
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
    return this.#link.open(events);
  }

  exchange(request: RpcRequest, sink: ResponseSink): void {
    const { id } = request;
    const observation = this.#begin(request);
    if (!observation) {
      this.#link.exchange(request, sink);
      return;
    }
    const observed = new ObservedExchange(sink, observation, () => this.#open.delete(id), this.#report);
    this.#open.set(id, observed);
    try {
      this.#link.exchange(withMeta(request, observation.meta), observed);
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

  close(): Promise<void> {
    return this.#link.close();
  }

  #begin({ id, method, params = {} }: RpcRequest): RequestObservation | undefined {
    try {
      return this.#observer.begin({
        ...{ id, method, params },
        server: this.#connection?.profile,
        transport: this.#transport,
      });
    } catch (thrown) {
      this.#report(thrown);
      return undefined;
    }
  }

  readonly #report = (thrown: unknown): void => {
    this.#connection?.report(toError(thrown));
  };
}

/** The receiver of an observed response. An observer that throws is reported, and never fails a call. */
class ObservedExchange implements ResponseSink {
  readonly #sink: ResponseSink;
  readonly #observation: RequestObservation;
  readonly #forget: () => void;
  readonly #report: (thrown: unknown) => void;
  #isOver = false;

  constructor(
    sink: ResponseSink,
    observation: RequestObservation,
    forget: () => void,
    report: (thrown: unknown) => void,
  ) {
    this.#sink = sink;
    this.#observation = observation;
    this.#forget = forget;
    this.#report = report;
  }

  response(response: RpcResponse): void {
    if ("error" in response) {
      const { code, message, data } = response.error;
      this.end({ error: new RpcError(code, message, { data }) });
    } else this.end({ result: response.result });
    let isReceived = false;
    const receive = () => {
      if (isReceived) return;
      isReceived = true;
      this.#sink.response(response);
    };
    try {
      this.#observation.run?.(receive);
    } catch (thrown) {
      this.#report(thrown);
    }
    receive();
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
    this.#forget();
    try {
      this.#observation.end(outcome);
    } catch (thrown) {
      this.#report(thrown);
    }
  }
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
