import type { Told } from "../tapped-link.ts";
import type { Head, HttpHeaders, Receiver, Transport, TransportRequest } from "./options.ts";

/** An HTTP exchange, and the label of the call whose message it carries. */
export interface ToldExchange {
  readonly number: number;
  readonly call: string | undefined;
}

/** The parts of a tapped link that its transport uses. */
interface ExchangeTap {
  beginExchange(request: TransportRequest): ToldExchange;
  sentIn(exchange: ToldExchange, text: string): void;
  readIn(exchange: ToldExchange, read: () => void): void;
  tell(event: Told, call?: string): void;
}

/** Tells a tap of every request that it sends, and of the steps of its response. */
export class TappedTransport implements Transport {
  readonly #transport: Transport;
  readonly #tap: ExchangeTap;

  constructor(transport: Transport, tap: ExchangeTap) {
    this.#transport = transport;
    this.#tap = tap;
  }

  get hidesRefusals(): boolean {
    return this.#transport.hidesRefusals;
  }

  send(request: TransportRequest, receiver: Receiver): () => void {
    const { method, url, headers, body } = request;
    const exchange = this.#tap.beginExchange(request);
    const shown = { method, url: maskUrl(url), headers: maskRequestHeaders(headers) };
    this.#tap.tell({ kind: "http", exchange: exchange.number, stage: "sent", ...shown }, exchange.call);
    if (body !== undefined) this.#tap.sentIn(exchange, body);
    const tapped = new TappedReceiver(receiver, this.#tap, exchange, url);
    const cancel = this.#transport.send(request, tapped);
    return () => {
      cancel();
      tapped.cancelled();
    };
  }

  hold(): () => void {
    return this.#transport.hold();
  }

  close(): void {
    this.#transport.close();
  }
}

class TappedReceiver implements Receiver {
  readonly #receiver: Receiver;
  readonly #tap: ExchangeTap;
  readonly #exchange: ToldExchange;
  readonly #url: URL;
  #status: number | undefined;
  #bytes = 0;
  #isOver = false;

  constructor(receiver: Receiver, tap: ExchangeTap, exchange: ToldExchange, url: URL) {
    this.#receiver = receiver;
    this.#tap = tap;
    this.#exchange = exchange;
    this.#url = url;
  }

  head(head: Head): void {
    this.#status = head.status;
    this.#tell({ stage: "status", status: head.status, headers: maskResponseHeaders(head, this.#url) });
    this.#tap.readIn(this.#exchange, () => this.#receiver.head(head));
  }

  text(text: string, bytes: number): void {
    this.#bytes += bytes;
    this.#tap.readIn(this.#exchange, () => this.#receiver.text(text, bytes));
  }

  end(): void {
    try {
      this.#tap.readIn(this.#exchange, () => this.#receiver.end());
    } finally {
      this.#over("end");
    }
  }

  failed(reason: Error, wasStale?: boolean): void {
    this.#over("failed", reason.message);
    this.#receiver.failed(reason, wasStale);
  }

  /** This side has closed the exchange, which is the usual end of a stream. */
  cancelled(): void {
    this.#over(this.#status === undefined ? "failed" : "end", "closed by this side");
  }

  #over(stage: "end" | "failed", reason?: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#tell({ stage, bytes: this.#bytes, ...(reason !== undefined && { reason }) });
  }

  #tell(step: Omit<Extract<Told, { kind: "http" }>, "kind" | "exchange">): void {
    const { number, call } = this.#exchange;
    this.#tap.tell({ kind: "http", exchange: number, ...step }, call);
  }
}

const masked = "…";

/** The headers of a request that the protocol defines. Any other may have been added because it is a secret. */
const plainRequestHeaders =
  /^(accept|accept-encoding|content-type|last-event-id|mcp-(method|name|protocol-version|session-id)|mcp-param-.+|traceparent)$/;
const secretResponseHeaders =
  /(^|-)(authorization|auth|cookie2?|credentials?|dpop|key|nonce|passw(or)?d|secret|signature|token)(-|$)|^proxy-auth/;

function maskRequestHeaders(headers: HttpHeaders): HttpHeaders {
  return maskHeaders(Object.entries(headers), (name, value) => {
    if (plainRequestHeaders.test(name)) return value;
    // The scheme tells how a request is authorized.
    const [, scheme = ""] = name.endsWith("authorization") ? (/^([\w-]+ )\S/.exec(value) ?? []) : [];
    return scheme + masked;
  });
}

function maskResponseHeaders({ headers = {} }: Head, base: URL): HttpHeaders {
  const entries: Iterable<readonly [string, string | string[] | undefined]> =
    Symbol.iterator in headers ? (headers as Headers).entries() : Object.entries(headers);
  return maskHeaders(entries, (name, value) => {
    if (name === "location") return URL.canParse(value, base) ? maskUrl(new URL(value, base)) : masked;
    return secretResponseHeaders.test(name) ? masked : value;
  });
}

function maskHeaders(
  entries: Iterable<readonly [string, string | string[] | undefined]>,
  mask: (name: string, value: string) => string,
): HttpHeaders {
  const shown: { [name: string]: string } = Object.create(null);
  for (const [given, value] of entries) {
    const name = given.toLowerCase();
    const text = Array.isArray(value) ? value.join(", ") : value;
    if (text !== undefined) shown[name] = mask(name, text);
  }
  return shown;
}

/** Keeps the names of a query, whose values are often keys. */
function maskUrl({ origin, pathname, searchParams }: URL): string {
  const query = [...new Set(searchParams.keys())].map((name) => `${encodeURIComponent(name)}=${masked}`);
  return `${origin}${pathname}${query.length === 0 ? "" : `?${query.join("&")}`}`;
}
