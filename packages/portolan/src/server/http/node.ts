import type { IncomingMessage, ServerResponse } from "node:http";
import { nameOf, PortolanError } from "../../errors.ts";
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
import { bodyCheckMs, lingerBytes, lingerMs, maxLingerMs, maxUnreadBodyBytes } from "./limits.ts";
import type { HttpLimits } from "./options.ts";
import { streamHeaders } from "./reply.ts";

/** A request of `node:http`, or of a framework that extends it. Written out, so that the types need no `@types/node`. */
export interface NodeRequest {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly headers: object;
}

/** A response of `node:http`, or of a framework that extends it. */
export interface NodeResponse {
  readonly headersSent: boolean;
  // `never` fits every overload of node, whatever its parameters are.
  writeHead(status: number, ...rest: never[]): unknown;
  end(...rest: never[]): unknown;
}

/** A listener for the requests of a `node:http` server; Express and similar frameworks take it as a handler. */
export type NodeListener = (req: NodeRequest, res: NodeResponse) => void;

/** The adapter for `node:http`. */
export function nodeListener(handle: HttpHandler, limits: HttpLimits = {}): NodeListener {
  const bodies = new BodyReader(bodyLimits(limits));
  return (req, res) => {
    const adapted = new AdaptedNodeRequest(req as IncomingMessage, res as ServerResponse, bodies);
    handle(adapted, adapted);
  };
}

// Hot path: one object for a request and its reply.
class AdaptedNodeRequest implements HttpRequest, HttpReply {
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  readonly #bodies: BodyReader;
  // Read once, because the getter of node costs something each time.
  readonly #headers: IncomingMessage["headers"];
  readonly method: string;
  readonly path: string;
  #isReading = false;
  #isAnswered = false;
  /** True once the whole response is written, although the rest of the request is still read. */
  #isWhole = false;
  #isClosed = false;
  #goneListeners: (() => void)[] | undefined;

  constructor(req: IncomingMessage, res: ServerResponse, bodies: BodyReader) {
    this.#req = req;
    this.#res = res;
    this.#bodies = bodies;
    this.#headers = req.headers;
    this.method = req.method ?? "";
    this.path = pathOf(req);
  }

  get remoteAddress(): string | undefined {
    return this.#req.socket.remoteAddress;
  }

  header(name: string): string | undefined {
    const value = this.#headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  }

  headersUnder(prefix: string): readonly (readonly [name: string, value: string])[] {
    const found: (readonly [string, string])[] = [];
    for (const name in this.#headers) {
      if (name.startsWith(prefix)) found.push([name, this.header(name) ?? ""]);
    }
    return found;
  }

  body(take: TakeBody, caller?: Caller): void {
    this.#isReading = true;
    this.#bodies.read(this.#req, take, caller);
  }

  send(status: number, headers: HttpHeaders, body?: string): void {
    const res = this.#res;
    if (this.#isAnswered || isGone(this.#req, res)) return;
    const fields = toFields(headers);
    if (body !== undefined) fields.push("content-length", String(Buffer.byteLength(body)));
    else if (status !== 204 && status !== 304) fields.push("content-length", "0");
    const isSending = this.#isSending();
    if ((isSending || isClosing(res)) && headers["connection"] === undefined) fields.push("connection", "close");
    // Throws if a header is invalid; an error response can still be sent then.
    res.writeHead(status, fields);
    this.#isAnswered = true;
    if (!isSending) {
      res.end(body);
      return;
    }
    if (body === undefined) res.flushHeaders();
    else res.write(body);
    this.#isWhole = true;
    linger(this.#req, res);
  }

  stream(headers: HttpHeaders): EventStream {
    const isFirst = !this.#isAnswered;
    const fields = toFields({ ...headers, ...streamHeaders });
    assertSendable(fields);
    this.#isAnswered = true;
    return new NodeStream(this.#req, this.#res, fields, isFirst);
  }

  onGone(listener: () => void): void {
    if (this.#isWhole || this.#res.writableFinished) return;
    if (this.#isClosed) queueMicrotask(listener);
    else if (this.#goneListeners) this.#goneListeners.push(listener);
    else {
      this.#goneListeners = [listener];
      this.onSent(() => this.#closed());
    }
  }

  get isGone(): boolean {
    return !this.#isWhole && !this.#res.writableFinished && isGone(this.#req, this.#res);
  }

  onSent(listener: () => void): void {
    const res = this.#res;
    // Its "close" event may be over.
    if (isGone(this.#req, res)) queueMicrotask(listener);
    res.on("close", listener);
    if (res.socket !== null) return;
    // A pipelined response that waits behind another gets no "close" event: watch its socket too.
    const { socket } = this.#req;
    socket.setMaxListeners(0);
    socket.on("close", listener);
    res.on("close", () => socket.off("close", listener));
  }

  #closed(): void {
    if (this.#isClosed || this.#isWhole || this.#res.writableFinished) return;
    this.#isClosed = true;
    for (const listener of this.#goneListeners ?? []) listener();
  }

  /** Returns whether the client is still sending more than the connection could simply skip. */
  #isSending(): boolean {
    if (this.#req.complete) return false;
    const { headers } = this.#req;
    return (
      this.#isReading ||
      headers["transfer-encoding"] !== undefined ||
      Number(headers["content-length"] ?? 0) > maxUnreadBodyBytes
    );
  }
}

class NodeStream implements EventStream {
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  /** The headers until they are written. An idle stream keeps as little as possible. */
  #fields: string[] | undefined;
  #pending = "";
  #isScheduled = false;
  #isEnded: boolean;

  constructor(req: IncomingMessage, res: ServerResponse, fields: string[], isOpen: boolean) {
    this.#req = req;
    this.#res = res;
    this.#fields = fields;
    this.#isEnded = !isOpen;
    if (isOpen) this.#schedule();
  }

  get backlog(): number {
    return this.#pending.length + this.#res.writableLength;
  }

  write(text: string): void {
    if (this.#isEnded || isGone(this.#req, this.#res)) return;
    this.#pending += text;
    this.#schedule();
  }

  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#schedule();
  }

  async drained(): Promise<void> {
    await new Promise(setImmediate);
    const res = this.#res;
    if (!res.writableNeedDrain || isGone(this.#req, res)) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        res.off("drain", done).off("close", done);
        resolve();
      };
      res.on("drain", done).on("close", done);
    });
  }

  destroy(): void {
    this.#isEnded = true;
    this.#pending = "";
    this.#req.socket.destroy();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    // A microtask first, so that the tick comes after everything that settles in this turn, even in a tick.
    queueMicrotask(() => process.nextTick(() => this.#flush()));
  }

  // The headers are written at the end of the turn, in one write with the events of the turn.
  #flush(): void {
    this.#isScheduled = false;
    const res = this.#res;
    if (isGone(this.#req, res)) return;
    const text = this.#pending;
    this.#pending = "";
    const fields = this.#fields;
    if (fields) {
      this.#fields = undefined;
      if (this.#isEnded) fields.push("content-length", String(Buffer.byteLength(text)));
      if (isClosing(res)) fields.push("connection", "close");
      res.writeHead(200, fields);
    }
    if (this.#isEnded) res.end(text, isClosing(res) ? () => this.#req.socket.destroySoon() : undefined);
    else if (text === "") res.flushHeaders();
    else res.write(text);
  }
}

/** Checks the socket too, because a pipelined response that waits behind another is not destroyed with it. */
function isGone(req: IncomingMessage, res: ServerResponse): boolean {
  return res.destroyed || req.socket.destroyed;
}

/** Returns names and values alternately, the form that node writes fastest. */
function toFields(headers: HttpHeaders): string[] {
  const fields: string[] = [];
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined) fields.push(name, value);
  }
  return fields;
}

/** Throws if node would refuse a header. A stream writes its headers later, when an error could not be answered. */
function assertSendable(fields: readonly string[]): void {
  const wrong = fields.find((field) => /[^\t -~\x80-\xff]/.test(field));
  if (wrong === undefined) return;
  throw new PortolanError("invalid-argument", `headers: expected no control characters, got ${nameOf(wrong)}`);
}

function pathOf(req: IncomingMessage & { readonly originalUrl?: string }): string {
  // Express removes the path under which a handler is mounted from `url`.
  const url = req.originalUrl ?? req.url ?? "";
  if (!url.startsWith("/")) return URL.canParse(url) ? new URL(url).pathname : url;
  const query = url.indexOf("?");
  return query === -1 ? url : url.slice(0, query);
}

/** The body that a framework has read, as `express.json()` does. */
interface Parsed {
  readonly body?: unknown;
}

/** Reads the bodies of one listener. One timer checks the rate of all that are arriving. */
class BodyReader {
  readonly #limits: BodyLimits;
  // Unordered array: a Set would cost more than the rest of a small body.
  readonly #arriving: ArrivingBody[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
  }

  read(req: IncomingMessage & Parsed, take: TakeBody, caller: Caller | undefined): void {
    const known = this.#withoutReading(req);
    if (known !== undefined) {
      take(known);
      return;
    }
    this.#timer ??= setInterval(this.#check, Math.min(bodyCheckMs, this.#limits.ms / 4)).unref();
    new ArrivingBody(req, this.#limits, this.#arriving, take, caller);
  }

  /** Returns a body or its problem if it is known before anything is read. */
  #withoutReading(req: IncomingMessage & Parsed): string | BodyProblem | undefined {
    const { body } = req;
    // Some frameworks set an empty object on requests whose body they have not read.
    if (body !== undefined && body !== null && (req.readableDidRead || !isEmptyObject(body))) {
      return readParsed(body, this.#limits);
    }
    if (req.readableEnded) return alreadyRead;
    if (req.destroyed) return incomplete;
    return Number(req.headers["content-length"]) > this.#limits.bytes ? tooLarge(this.#limits) : undefined;
  }

  readonly #check = (): void => {
    for (const body of [...this.#arriving]) body.check();
    if (this.#arriving.length > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  };
}

const arriving: unique symbol = Symbol("arriving body");
type Reading = IncomingMessage & { [arriving]?: ArrivingBody };

const noBytes = new Uint8Array();

// Hot path: one function for all requests instead of a closure for each.
function onData(this: Reading, chunk: Buffer): void {
  this[arriving]?.add(chunk);
}

function onEnd(this: Reading): void {
  this[arriving]?.end();
}

/** One body that is arriving. It removes itself from the list of its reader at its end. */
class ArrivingBody {
  readonly #req: Reading;
  readonly #limits: BodyLimits;
  readonly #others: ArrivingBody[];
  readonly #take: TakeBody;
  readonly #caller: Caller | undefined;
  readonly #since = performance.now();
  /** Most bodies arrive in one chunk and need no list. */
  #first: Buffer | undefined;
  #bytes: ByteList | undefined;
  #length = 0;
  /** Bytes that are counted for the caller. Zero for a body that arrives in one chunk. */
  #counted = 0;
  /** Its index in the list of its reader. */
  #index: number;

  constructor(req: Reading, limits: BodyLimits, others: ArrivingBody[], take: TakeBody, caller: Caller | undefined) {
    this.#req = req;
    this.#limits = limits;
    this.#others = others;
    this.#take = take;
    this.#caller = caller;
    this.#index = others.push(this) - 1;
    req[arriving] = this;
    req.on("data", onData);
    req.on("end", onEnd);
  }

  add(chunk: Buffer): void {
    if (!this.#first) this.#first = chunk;
    else {
      if (!this.#bytes) {
        this.#bytes = new ByteList();
        this.#bytes.push(this.#first);
      }
      this.#bytes.push(chunk);
    }
    this.#length += chunk.length;
    if (this.#length > this.#limits.bytes) this.#stop(tooLarge(this.#limits));
    else if (this.#bytes) this.#count();
  }

  end(): void {
    this.#settle(decodeBody(this.#bytes?.take() ?? this.#first ?? noBytes));
  }

  /** Stops reading if the client has disconnected or is too slow, and counts what has arrived if not. */
  check(): void {
    if (this.#req.destroyed) this.#stop(incomplete);
    else if (isTooSlow(this.#length, performance.now() - this.#since, this.#limits)) {
      this.#stop(tooSlow(this.#limits));
    } else this.#count();
  }

  /** Counts what has arrived, and stops reading if the caller has no room for it. */
  #count(): void {
    const more = this.#length - this.#counted;
    const problem = countArrived(this.#caller, more);
    if (problem) this.#stop(problem);
    else this.#counted += more;
  }

  #stop(problem: BodyProblem): void {
    this.#req.off("data", onData).off("end", onEnd).pause();
    this.#first = undefined;
    this.#bytes = undefined;
    this.#settle(problem);
  }

  #settle(result: string | BodyProblem): void {
    const last = this.#others.pop();
    if (last !== undefined && last !== this) {
      this.#others[this.#index] = last;
      last.#index = this.#index;
    }
    if (this.#counted > 0) this.#caller?.release("keptBytes", this.#counted);
    this.#take(result);
  }
}

function isEmptyObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

function readParsed(body: unknown, limits: BodyLimits): string | BodyProblem {
  const text = body instanceof Uint8Array ? decodeBody(body) : typeof body === "string" ? body : serialize(body);
  return typeof text === "string" && Buffer.byteLength(text) > limits.bytes ? tooLarge(limits) : text;
}

function serialize(body: unknown): string | BodyProblem {
  try {
    return JSON.stringify(body) ?? alreadyRead;
  } catch {
    return alreadyRead;
  }
}

/**
 * Ends an answered request whose client is still sending. Closing the connection at once would reset it, and the client
 * would see the reset instead of the response. So the rest is read and dropped, up to a limit.
 */
function linger(req: IncomingMessage, res: ServerResponse): void {
  let remaining = lingerBytes;
  const since = performance.now();
  const drop = () => req.socket.destroy();
  const timer = setTimeout(drop, lingerMs);
  req.on("data", (chunk: Buffer) => {
    remaining -= chunk.length;
    if (remaining < 0 || performance.now() - since > maxLingerMs) drop();
    else timer.refresh();
  });
  req.on("end", () => res.end());
  req.on("close", () => clearTimeout(timer));
  req.resume();
}

/** The state of a server that `listen` started; each of its responses refers to it. */
export interface ClosingState {
  isClosing: boolean;
}

/** The member of a response that holds the state of its server. */
export const closingState: unique symbol = Symbol("closing");

/** Returns whether the server is closing, so that a response must close its connection. */
function isClosing(res: ServerResponse): boolean {
  return (res as { [closingState]?: ClosingState })[closingState]?.isClosing === true;
}
