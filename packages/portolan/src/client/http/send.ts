import { toError } from "../failures.ts";
import { unreachable } from "./failure.ts";
import { maxChallengeChars, maxChallenges, maxMovedAddresses } from "./limits.ts";
import type {
  AuthRequest,
  Head,
  HttpHeaders,
  HttpLinkOptions,
  Receiver,
  Transport,
  TransportRequest,
} from "./options.ts";

const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const noHeaders: HttpHeaders = {};

/** A request of the protocol, before the user's headers are added. */
export interface LinkRequest extends TransportRequest {
  /** Tells if the request may be sent twice, which happens if its connection turns out to be closed. */
  readonly mayRepeat?: () => boolean;
  /** Fails on a 401 or 403 without a login: nobody signs in to cancel a request or to end a session. */
  readonly skipAuth?: boolean;
}

export interface SenderOptions extends Pick<HttpLinkOptions, "headers" | "auth"> {
  /** The server's address as given by the user. */
  readonly server: URL;
  /** Called with `true` when a challenge may need a person to sign in, and with `false` when it is settled. */
  onLogin(isOpen: boolean): void;
}

/** Sends requests with the user's headers, follows redirects within one host, and passes challenges to `auth`. */
export class HttpSender {
  readonly transport: Transport;
  readonly options: SenderOptions;
  /** Requests whose challenge is not settled yet. */
  readonly #awaitingLogin = new Set<Delivery>();
  /** Targets of permanent redirects. */
  readonly #moved = new Map<string, URL>();

  constructor(transport: Transport, options: SenderOptions) {
    this.transport = transport;
    this.options = options;
  }

  /** True while a person may be signing in, which can take any time. */
  get isAwaitingLogin(): boolean {
    return this.#awaitingLogin.size > 0;
  }

  beginLogin(delivery: Delivery): void {
    this.#awaitingLogin.add(delivery);
    this.options.onLogin(true);
  }

  endLogin(delivery: Delivery): void {
    this.#awaitingLogin.delete(delivery);
    this.options.onLogin(false);
  }

  abortLogins(reason: Error): void {
    for (const delivery of this.#awaitingLogin) delivery.abort(reason);
  }

  /** Returns the address after all permanent redirects. */
  currentUrlOf(url: URL): URL {
    let current = url;
    for (let moves = 0; moves < this.#moved.size; moves += 1) current = this.#moved.get(current.href) ?? current;
    return current;
  }

  /** Notes a permanent redirect. */
  rememberMove(from: URL, to: URL): void {
    if (this.#moved.size < maxMovedAddresses) this.#moved.set(from.href, to);
  }

  /** Sends like the transport, but failures name the request, and a 401 or 403 is a failure. */
  send(request: LinkRequest, receiver: Receiver): () => void {
    const delivery = new Delivery(this, request, receiver);
    delivery.start();
    return () => delivery.cancel();
  }
}

/** A redirect or challenge, which does not go to the receiver. */
interface BufferedResponse {
  readonly head: Head;
  body: string;
}

/** One request with all its attempts: redirects, challenges, and a repetition on a new connection. */
class Delivery implements Receiver {
  readonly #sender: HttpSender;
  readonly #request: LinkRequest;
  readonly #receiver: Receiver;
  #url: URL;
  #cancel: (() => void) | undefined;
  #isOver = false;
  #redirects = 0;
  #hasRepeated = false;
  #challenges = 0;
  /** The authorization headers of the latest attempt. */
  #authorization = noHeaders;
  /** Created with the first challenge. */
  #challengeAbort: AbortController | undefined;
  /** Set while a redirect or challenge is read. */
  #buffered: BufferedResponse | undefined;

  constructor(sender: HttpSender, request: LinkRequest, receiver: Receiver) {
    this.#sender = sender;
    this.#request = request;
    this.#receiver = receiver;
    this.#url = sender.currentUrlOf(request.url);
  }

  // Hot path: without hooks nothing is awaited.
  start(): void {
    const { headers, auth } = this.#sender.options;
    if (typeof headers === "function" || auth) this.#prepare();
    else this.#dispatch(headers);
  }

  cancel(): void {
    this.#isOver = true;
    this.#cancel?.();
    this.#challengeAbort?.abort();
  }

  abort(reason: Error): void {
    this.#challengeAbort?.abort(reason);
    this.#fail(reason);
  }

  head(head: Head): void {
    const { status } = head;
    if (status > 300 && (status === 401 || status === 403 || redirects.has(status)))
      this.#buffered = { head, body: "" };
    else this.#receiver.head(head);
  }

  text(text: string, bytes: number): void {
    if (!this.#buffered) this.#receiver.text(text, bytes);
    else if (this.#buffered.body.length < maxChallengeChars) this.#buffered.body += text;
    else {
      // The rest of a body that is too long is not read.
      this.#cancel?.();
      this.end();
    }
  }

  end(): void {
    if (this.#buffered) this.#followOrAuthorize(this.#buffered);
    else this.#receiver.end();
  }

  failed(reason: Error, wasStale = false): void {
    if (wasStale && !this.#hasRepeated && this.#request.mayRepeat?.()) {
      this.#hasRepeated = true;
      this.start();
    } else if (this.#buffered) this.end();
    else this.#fail(unreachable(this.#outgoing, reason));
  }

  get #outgoing(): AuthRequest {
    const { method, body } = this.#request;
    return { method, body, url: this.#url, server: this.#sender.options.server };
  }

  async #prepare(): Promise<void> {
    const { headers, auth } = this.#sender.options;
    const outgoing = this.#outgoing;
    try {
      const own = typeof headers === "function" ? await headers(outgoing) : headers;
      this.#authorization = (await auth?.authorize(outgoing)) ?? noHeaders;
      if (!this.#isOver) this.#dispatch(own, this.#authorization);
    } catch (reason) {
      this.#fail(this.#hasRepeated ? toError(reason) : markNotRun(reason));
    }
  }

  #dispatch(own?: HttpHeaders, authorization?: HttpHeaders): void {
    const { method, body, headers } = this.#request;
    const all = own || authorization ? merge(own, authorization, headers) : headers;
    this.#buffered = undefined;
    this.#cancel = this.#sender.transport.send({ method, body, url: this.#url, headers: all }, this);
  }

  /** Sends the request again after a redirect or a settled challenge, or fails. */
  async #followOrAuthorize({ head, body }: BufferedResponse): Promise<void> {
    try {
      if (head.status < 400) {
        const { followRedirect } = await import("./resend.ts");
        const target = followRedirect(this.#outgoing, head, this.#redirects);
        this.#redirects += 1;
        if (head.status === 308) this.#sender.rememberMove(this.#url, target);
        this.#url = target;
      } else await this.#answerChallenge(head, body);
      if (!this.#isOver) this.start();
    } catch (reason) {
      this.#fail(toError(reason));
    }
  }

  async #answerChallenge(head: Head, body: string): Promise<void> {
    const mayLogIn = this.#challenges < maxChallenges && !this.#request.skipAuth;
    const auth = mayLogIn ? this.#sender.options.auth : undefined;
    const { answerChallenge } = await import("./resend.ts");
    this.#challenges += 1;
    this.#challengeAbort ??= new AbortController();
    const { signal } = this.#challengeAbort;
    const about = { request: this.#outgoing, sent: this.#authorization, operation: this, signal };
    this.#sender.beginLogin(this);
    try {
      await answerChallenge(about, head, body, auth);
    } catch (reason) {
      throw markNotRun(reason);
    } finally {
      this.#sender.endLogin(this);
    }
  }

  #fail(reason: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#receiver.failed(reason);
  }
}

/** Marks an error: the request was not sent, or the server refused its caller, so it has not run. */
function markNotRun(reason: unknown): Error {
  const error: Error & { neverRan?: boolean } = toError(reason);
  return error.neverRan === undefined && Object.isExtensible(error) ? Object.assign(error, { neverRan: true }) : error;
}

/** Merges headers by their case-insensitive names. Later ones take precedence. */
function merge(...all: (HttpHeaders | undefined)[]): HttpHeaders {
  const merged = new Map<string, string>();
  for (const headers of all) {
    for (const [name, value] of Object.entries(headers ?? {})) merged.set(name.toLowerCase(), value);
  }
  return Object.fromEntries(merged);
}
