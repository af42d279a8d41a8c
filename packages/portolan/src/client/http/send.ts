import { toError } from "../failures.ts";
import { unreachable } from "./failure.ts";
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
/** More than any authorization needs: a nonce, a token, and scopes as they turn out to be needed. */
const maxChallenges = 8;
/** More than an address moves while a link is open. */
const maxMoved = 10;
/** As much of a challenge is read; the rest says nothing that matters. */
const maxChallengeChars = 65_536;

/** A request of the protocol, before the headers of the user are added. */
export interface Sending extends TransportRequest {
  /** Whether it does no harm to send it twice: then it is, when the connection it was sent on turns out to be closed. */
  readonly mayRepeat?: () => boolean;
  /** Only takes leave: nobody is asked who they are for it. */
  readonly isFarewell?: boolean;
}

/** What a sender does besides sending. */
export interface SenderOptions extends Pick<HttpLinkOptions, "headers" | "auth"> {
  /** The server as the user has named it. */
  readonly server: URL;
  /** Hears when somebody must say who they are before anything goes on, and when they have. */
  held(isHeld: boolean): void;
}

/** Sends requests with the headers of the user, follows redirects within one host, and lets a hook answer challenges. */
export class HttpSender {
  readonly transport: Transport;
  readonly options: SenderOptions;
  /** What waits for somebody to say who they are. */
  readonly #held = new Set<Delivery>();
  /** Where addresses have moved to for good. */
  readonly #moved = new Map<string, URL>();

  constructor(transport: Transport, options: SenderOptions) {
    this.transport = transport;
    this.options = options;
  }

  /** Whether somebody is being asked who they are, which takes the time that it takes. */
  get isHeld(): boolean {
    return this.#held.size > 0;
  }

  hold(delivery: Delivery): void {
    this.#held.add(delivery);
    this.options.held(true);
  }

  release(delivery: Delivery): void {
    this.#held.delete(delivery);
    this.options.held(false);
  }

  /** Nobody needs to say any more who they are. */
  giveUp(reason: Error): void {
    for (const delivery of this.#held) delivery.giveUp(reason);
  }

  /** Where a request to this address goes, after all that the server has said about it. */
  placeOf(url: URL): URL {
    let place = url;
    for (let moves = 0; moves < this.#moved.size; moves += 1) place = this.#moved.get(place.href) ?? place;
    return place;
  }

  /** What is sent to `from` goes to `to` from now on. */
  remember(from: URL, to: URL): void {
    if (this.#moved.size < maxMoved) this.#moved.set(from.href, to);
  }

  /** As the transport sends, except that failures name the request and a 401 or 403 is one. */
  send(request: Sending, receiver: Receiver): () => void {
    const delivery = new Delivery(this, request, receiver);
    delivery.start();
    return () => delivery.cancel();
  }
}

/** The beginning of an answer that is not for the receiver. */
interface BufferedResponse {
  readonly head: Head;
  body: string;
}

class Delivery implements Receiver {
  readonly #sender: HttpSender;
  readonly #sending: Sending;
  readonly #receiver: Receiver;
  #url: URL;
  #cancel: (() => void) | undefined;
  #isOver = false;
  #redirects = 0;
  #hasRepeated = false;
  #challenges = 0;
  /** What authorized the latest attempt. */
  #authorization = noHeaders;
  /** There when a challenge is being answered. */
  #answering: AbortController | undefined;
  /** Set while an answer is read that does not go to the receiver. */
  #kept: BufferedResponse | undefined;

  constructor(sender: HttpSender, sending: Sending, receiver: Receiver) {
    this.#sender = sender;
    this.#sending = sending;
    this.#receiver = receiver;
    this.#url = sender.placeOf(sending.url);
  }

  // Hot path: nothing is awaited where no hook has to be.
  start(): void {
    const { headers, auth } = this.#sender.options;
    if (typeof headers === "function" || auth) this.#prepare();
    else this.#dispatch(headers);
  }

  cancel(): void {
    this.#isOver = true;
    this.#cancel?.();
    this.#answering?.abort();
  }

  giveUp(reason: Error): void {
    this.#answering?.abort(reason);
    this.#fail(reason);
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
    if (this.#kept) this.#detour(this.#kept);
    else this.#receiver.end();
  }

  failed(reason: Error, wasStale = false): void {
    if (wasStale && !this.#hasRepeated && this.#sending.mayRepeat?.()) {
      this.#hasRepeated = true;
      this.start();
    } else if (this.#kept) this.end();
    else this.#fail(unreachable(this.#outgoing, reason));
  }

  get #outgoing(): AuthRequest {
    const { method, body } = this.#sending;
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
      this.#fail(this.#hasRepeated ? toError(reason) : unsent(reason));
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

  /** The answer leads elsewhere, or asks who is there: the request is sent again, or that is why it fails. */
  async #detour({ head, body }: BufferedResponse): Promise<void> {
    try {
      if (head.status < 400) {
        const { followRedirect } = await import("./redirect.ts");
        const target = followRedirect(this.#outgoing, head, this.#redirects);
        this.#redirects += 1;
        if (head.status === 308) this.#sender.remember(this.#url, target);
        this.#url = target;
      } else await this.#answer(head, body);
      if (!this.#isOver) this.start();
    } catch (reason) {
      this.#fail(toError(reason));
    }
  }

  async #answer(head: Head, body: string): Promise<void> {
    const mayAsk = this.#challenges < maxChallenges && !this.#sending.isFarewell;
    const auth = mayAsk ? this.#sender.options.auth : undefined;
    const { answerChallenge } = await import("./redirect.ts");
    this.#challenges += 1;
    this.#answering ??= new AbortController();
    const { signal } = this.#answering;
    const about = { request: this.#outgoing, sent: this.#authorization, operation: this, signal };
    this.#sender.hold(this);
    try {
      await answerChallenge(about, head, body, auth);
    } catch (reason) {
      throw unsent(reason);
    } finally {
      this.#sender.release(this);
    }
  }

  #fail(reason: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#receiver.failed(reason);
  }
}

/** Why a request was not made, or not for one whom the server would have heard: it has not run. */
function unsent(reason: unknown): Error {
  const error: Error & { neverRan?: boolean } = toError(reason);
  return error.neverRan === undefined && Object.isExtensible(error) ? Object.assign(error, { neverRan: true }) : error;
}

/** Header names differ by more than their capitals, and the later ones win. */
function merge(...all: (HttpHeaders | undefined)[]): HttpHeaders {
  const merged = new Map<string, string>();
  for (const headers of all) {
    for (const [name, value] of Object.entries(headers ?? {})) merged.set(name.toLowerCase(), value);
  }
  return Object.fromEntries(merged);
}
