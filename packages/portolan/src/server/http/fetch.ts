import { PortolanError } from "../../errors.ts";
import { ByteList } from "../../jsonrpc/framing.ts";
import type { Caller } from "../callers.ts";
import type {
  BodyProblem,
  EventStream,
  HttpHandler,
  HttpHeaders,
  HttpReply,
  HttpRequest,
  TakeBody,
} from "./adapter.ts";
import {
  alreadyRead,
  type BodyLimits,
  bodyLimits,
  countArrived,
  decodeBody,
  incomplete,
  isTooSlow,
  tooLarge,
  tooSlow,
} from "./body.ts";
import { bodyCheckMs } from "./limits.ts";
import type { HttpLimits } from "./options.ts";
import { streamHeaders } from "./reply.ts";

/** The status of a response whose client has disconnected; nobody reads it. */
const goneStatus = 499;

/** The adapter for runtimes with `Request` and `Response`. */
export function fetchHandler(handle: HttpHandler, limits: HttpLimits = {}): (request: Request) => Promise<Response> {
  const bodies = bodyLimits(limits);
  return (request) =>
    new Promise((resolve) => {
      const adapted = new AdaptedFetchRequest(request, bodies, resolve);
      handle(adapted, adapted);
    });
}

/** One request and its reply. */
class AdaptedFetchRequest implements HttpRequest, HttpReply {
  readonly #request: Request;
  readonly #url: URL;
  readonly #limits: BodyLimits;
  readonly #answer: (response: Response) => void;
  readonly #goneListeners: (() => void)[] = [];
  readonly #sentListeners: (() => void)[] = [];
  #isAnswered = false;
  #isStreaming = false;
  /** True once the response is handed over completely, or the client has disconnected. */
  #isOver = false;
  #isGone = false;

  constructor(request: Request, limits: BodyLimits, answer: (response: Response) => void) {
    this.#request = request;
    this.#url = new URL(request.url);
    this.#limits = limits;
    this.#answer = answer;
  }

  get method(): string {
    return this.#request.method;
  }

  get path(): string {
    return this.#url.pathname;
  }

  get remoteAddress(): string | undefined {
    return undefined;
  }

  header(name: string): string | undefined {
    // Some runtimes have the host in the URL only.
    return this.#request.headers.get(name) ?? (name === "host" ? this.#url.host : undefined);
  }

  headersUnder(prefix: string): readonly (readonly [name: string, value: string])[] {
    return [...this.#request.headers].filter(([name]) => name.startsWith(prefix));
  }

  body(take: TakeBody, caller?: Caller): void {
    const { body, bodyUsed, headers } = this.#request;
    if (bodyUsed) take(alreadyRead);
    else if (body === null) take("");
    else if (Number(headers.get("content-length")) > this.#limits.bytes) take(tooLarge(this.#limits));
    else void readBody(body.getReader(), this.#limits, caller).then(take);
  }

  send(status: number, headers: HttpHeaders, body?: string): void {
    if (this.#isAnswered) return;
    // Throws if a header is invalid; an error response can still be sent then.
    const response = new Response(body ?? null, { status, headers });
    this.#isAnswered = this.#isOver = true;
    this.#answer(response);
  }

  stream(headers: HttpHeaders): EventStream {
    const stream = new FetchStream({
      taken: () => {
        this.#isOver = true;
        for (const listener of this.#sentListeners) listener();
      },
      dropped: this.#gone,
    });
    if (this.#isAnswered) {
      stream.destroy();
      return stream;
    }
    const response = new Response(stream.readable, { headers: { ...headers, ...streamHeaders } });
    this.#isAnswered = this.#isStreaming = true;
    this.#answer(response);
    onAbort(this.#request.signal, () => stream.abandon());
    return stream;
  }

  get isGone(): boolean {
    return this.#isGone || (!this.#isOver && this.#request.signal.aborted);
  }

  // The runtime does not tell when a whole body was taken; only streams do.
  onSent(listener: () => void): void {
    if (!this.#isStreaming || this.#isOver) queueMicrotask(listener);
    else this.#sentListeners.push(listener);
  }

  onGone(listener: () => void): void {
    if (this.#isGone) queueMicrotask(listener);
    else if (this.#goneListeners.push(listener) === 1) onAbort(this.#request.signal, this.#gone);
  }

  readonly #gone = (): void => {
    if (this.#isOver) return;
    this.#isOver = this.#isGone = true;
    for (const listener of [...this.#goneListeners, ...this.#sentListeners]) listener();
    if (this.#isAnswered) return;
    this.#isAnswered = true;
    this.#answer(new Response(null, { status: goneStatus }));
  };
}

function onAbort(signal: AbortSignal, listener: () => void): void {
  if (signal.aborted) queueMicrotask(listener);
  else signal.addEventListener("abort", listener);
}

interface StreamEvents {
  /** The client has read everything. */
  taken(): void;
  dropped(): void;
}

/** An event stream that buffers by itself, because the queue of a `ReadableStream` does not tell its length. */
class FetchStream implements EventStream {
  readonly readable: ReadableStream<Uint8Array>;
  readonly #events: StreamEvents;
  readonly #encoder = new TextEncoder();
  readonly #flushLater = (): void => this.#flush();
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  readonly #waiting: (() => void)[] = [];
  #pending = "";
  #isScheduled = false;
  #isWanted = false;
  #isEnded = false;
  #isOver = false;

  constructor(events: StreamEvents) {
    this.#events = events;
    this.readable = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => {
          this.#isWanted = true;
          this.#flush();
        },
        // A reader that cancels has closed the stream already.
        cancel: () => this.#drop(() => {}),
      },
      { highWaterMark: 0 },
    );
  }

  get backlog(): number {
    return this.#pending.length;
  }

  write(text: string): void {
    if (this.#isEnded || this.#isOver) return;
    this.#pending += text;
    this.#schedule();
  }

  drained(): Promise<void> {
    if (this.#isOver || this.#pending === "") return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  end(): void {
    if (this.#isEnded || this.#isOver) return;
    this.#isEnded = true;
    this.#schedule();
  }

  destroy(): void {
    this.#drop((controller) =>
      controller.error(new PortolanError("connection-closed", "The stream was closed before its end")),
    );
  }

  /** Ends the stream of a client that has disconnected. Without an error, which some frameworks print. */
  abandon(): void {
    this.#drop((controller) => controller.close());
  }

  #drop(end: (controller: ReadableStreamDefaultController<Uint8Array>) => void): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#pending = "";
    this.#release();
    if (this.#controller) end(this.#controller);
    this.#events.dropped();
  }

  #release(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    queueMicrotask(this.#flushLater);
  }

  #flush(): void {
    this.#isScheduled = false;
    if (this.#isOver) return;
    if (this.#isWanted && this.#pending !== "") {
      const text = this.#pending;
      this.#pending = "";
      this.#isWanted = false;
      this.#controller?.enqueue(this.#encoder.encode(text));
      this.#release();
    }
    if (!this.#isEnded || this.#pending !== "") return;
    this.#isOver = true;
    this.#controller?.close();
    this.#events.taken();
  }
}

async function readBody(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  limits: BodyLimits,
  caller: Caller | undefined,
): Promise<string | BodyProblem> {
  const bytes = new ByteList();
  let counted = 0;
  const since = performance.now();
  let problem: BodyProblem | undefined;
  let timer: ReturnType<typeof setTimeout>;
  const checkRate = () => {
    if (isTooSlow(bytes.length, performance.now() - since, limits)) {
      problem = tooSlow(limits);
      reader.releaseLock();
    } else timer = setTimeout(checkRate, Math.min(bodyCheckMs, limits.ms));
  };
  timer = setTimeout(checkRate, limits.ms + 1);
  try {
    while (problem === undefined) {
      const { done, value } = await reader.read();
      if (done) break;
      bytes.push(value);
      problem = bytes.length > limits.bytes ? tooLarge(limits) : countArrived(caller, value.length);
      if (problem === undefined) counted = bytes.length;
    }
  } catch {
    problem ??= incomplete;
  } finally {
    clearTimeout(timer);
    caller?.release("keptBytes", counted);
    // Not cancelled: some runtimes would close the connection, and the client would not get the error.
    reader.releaseLock();
  }
  return problem ?? decodeBody(bytes.take());
}
