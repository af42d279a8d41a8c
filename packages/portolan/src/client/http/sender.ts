import { toError } from "../failures.ts";
import { addressOf, HttpFailure, refused, unreachable } from "./http-failure.ts";
import type { Challenge, HttpHeaders, HttpLinkOptions, OutgoingRequest } from "./options.ts";
import type { Head, HttpRequest, Receiver, Transport } from "./transport.ts";

const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const none: readonly number[] = [];
const maxRedirects = 2;
/** As much of a challenge is read; the rest says nothing that matters. */
const maxChallengeChars = 65_536;

/** A request of the protocol, before the headers of the user are added. */
export interface Sending extends HttpRequest {
  /** Whether it does no harm to send it twice: then it is, when the connection it was sent on turns out to be closed. */
  readonly mayRepeat?: () => boolean;
}

type SenderOptions = Pick<HttpLinkOptions, "headers" | "authorize" | "challenged">;

/** Sends requests with the headers of the user, follows redirects within one host, and lets a hook answer challenges. */
export class Sender {
  readonly transport: Transport;
  readonly options: SenderOptions;

  constructor(transport: Transport, options: SenderOptions) {
    this.transport = transport;
    this.options = options;
  }

  /** As the transport sends, except that failures name the request and a 401 or 403 is one. */
  send(request: Sending, receiver: Receiver): () => void {
    const delivery = new Delivery(this, request, receiver);
    delivery.start();
    return () => delivery.cancel();
  }
}

class Delivery implements Receiver {
  readonly #sender: Sender;
  readonly #sending: Sending;
  readonly #receiver: Receiver;
  #url: URL;
  #cancel: (() => void) | undefined;
  #isOver = false;
  #redirects = 0;
  #hasRepeated = false;
  /** The statuses that the hook was asked about. */
  #challengedBy: readonly number[] = none;
  /** Set while an answer is read that does not go to the receiver. */
  #kept: { readonly head: Head; body: string } | undefined;

  constructor(sender: Sender, sending: Sending, receiver: Receiver) {
    this.#sender = sender;
    this.#sending = sending;
    this.#receiver = receiver;
    this.#url = sending.url;
  }

  // Hot path: nothing is awaited where no hook has to be.
  start(): void {
    const { headers, authorize } = this.#sender.options;
    if (typeof headers === "function" || authorize) this.#prepare();
    else this.#dispatch(headers);
  }

  cancel(): void {
    this.#isOver = true;
    this.#cancel?.();
  }

  head(head: Head): void {
    const { status } = head;
    if (status > 300 && (status === 401 || status === 403 || redirects.has(status))) this.#kept = { head, body: "" };
    else this.#receiver.head(head);
  }

  text(text: string, bytes: number): void {
    if (!this.#kept) this.#receiver.text(text, bytes);
    else if (this.#kept.body.length < maxChallengeChars) this.#kept.body += text;
    else this.#cut();
  }

  end(): void {
    if (!this.#kept) this.#receiver.end();
    else if (this.#kept.head.status < 400) this.#redirect(this.#kept.head);
    else this.#challenge(this.#kept.head, this.#kept.body);
  }

  failed(reason: Error, wasStale = false): void {
    if (wasStale && !this.#hasRepeated && this.#sending.mayRepeat?.()) {
      this.#hasRepeated = true;
      this.start();
    } else if (this.#kept) this.end();
    else this.#fail(unreachable(this.#outgoing, reason));
  }

  get #outgoing(): OutgoingRequest {
    const { method, body } = this.#sending;
    return { method, body, url: this.#url };
  }

  async #prepare(): Promise<void> {
    const { headers, authorize } = this.#sender.options;
    const outgoing = this.#outgoing;
    try {
      const own = typeof headers === "function" ? await headers(outgoing) : headers;
      const authorization = await authorize?.(outgoing);
      if (!this.#isOver) this.#dispatch(own, authorization);
    } catch (reason) {
      this.#fail(toError(reason));
    }
  }

  #dispatch(own?: HttpHeaders, authorization?: HttpHeaders): void {
    const { method, body, headers } = this.#sending;
    const all = own || authorization ? merge(own, authorization, headers) : headers;
    this.#kept = undefined;
    this.#cancel = this.#sender.transport.send({ method, body, url: this.#url, headers: all }, this);
  }

  /** Stops reading an answer that was read far enough. */
  #cut(): void {
    this.#cancel?.();
    this.end();
  }

  #redirect(head: Head): void {
    const { status } = head;
    const location = head.header("location");
    const target = location === undefined ? undefined : toUrl(location, this.#url);
    const isKept = status === 307 || status === 308 || (this.#sending.method === "GET" && status <= 302);
    if (target && isKept && isSameHost(this.#url, target) && this.#redirects < maxRedirects) {
      this.#redirects += 1;
      this.#url = target;
      this.start();
      return;
    }
    this.#fail(new HttpFailure("http-status", this.#outgoing, whyNot(status, target, this.#redirects), { status }));
  }

  async #challenge(head: Head, body: string): Promise<void> {
    const { challenged } = this.#sender.options;
    const failure = refused(this.#outgoing, head, body);
    const status = head.status as 401 | 403;
    try {
      if (!challenged || this.#challengedBy.includes(status)) throw failure;
      this.#challengedBy = [...this.#challengedBy, status];
      const challenge: Challenge = { status, header: (name) => head.header(name.toLowerCase()), body };
      if ((await challenged(challenge)) !== "retry") throw failure;
      if (!this.#isOver) this.start();
    } catch (reason) {
      this.#fail(toError(reason));
    }
  }

  #fail(reason: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#receiver.failed(reason);
  }
}

/** Header names differ by more than their capitals, and the later ones win. */
function merge(...all: (HttpHeaders | undefined)[]): HttpHeaders {
  const merged = new Map<string, string>();
  for (const headers of all) {
    for (const [name, value] of Object.entries(headers ?? {})) merged.set(name.toLowerCase(), value);
  }
  return Object.fromEntries(merged);
}

function toUrl(location: string, base: URL): URL | undefined {
  try {
    return new URL(location, base);
  } catch {
    return undefined;
  }
}

/** Credentials stay with the host they are for; only the way there may become a safe one. */
function isSameHost(from: URL, to: URL): boolean {
  if (to.username !== "" || to.password !== "") return false;
  if (to.origin === from.origin) return true;
  return (
    from.protocol === "http:" && to.protocol === "https:" && from.hostname === to.hostname && from.port === to.port
  );
}

function whyNot(status: number, target: URL | undefined, followed: number): string {
  if (!target) return `answered ${status} without saying where to`;
  const shown = addressOf(target);
  if (followed >= maxRedirects) return `is redirected more than ${maxRedirects} times, at last to ${shown}`;
  return `answered ${status}, a redirect to ${shown} that is not followed; if that is the server, use its address`;
}
