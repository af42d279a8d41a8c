import type { IncomingMessage, ServerResponse } from "node:http";
import { nameOf, PortolanError } from "../../errors.ts";
import { ByteList } from "../../jsonrpc/framing.ts";
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
  type BodyLimits,
  bodyLimits,
  cutOff,
  decodeBody,
  isTooSlow,
  takenAlready,
  tooLarge,
  tooSlow,
} from "./guard.ts";
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
  // biome-ignore lint/suspicious/noExplicitAny: the overloads of node have other parameters
  writeHead(status: number, ...rest: any[]): unknown;
  // biome-ignore lint/suspicious/noExplicitAny: the overloads of node have other parameters
  end(...rest: any[]): unknown;
}

/** A listener for the requests of a `node:http` server, also as a handler of Express and its like. */
export type NodeListener = (req: NodeRequest, res: NodeResponse) => void;

/** What a refused request may still send on a connection that goes on. */
const smallBody = 64 * 1024;

/** The door for `node:http`. */
export function nodeListener(handle: HttpHandler, limits: HttpLimits = {}): NodeListener {
  const bodies = new BodyReader(bodyLimits(limits));
  return (req, res) => {
    const context = new NodeVisit(req as IncomingMessage, res as ServerResponse, bodies);
    handle(context, context);
  };
}

/** One request and its reply: a single object, because every request pays for it. */
class NodeVisit implements HttpRequest, HttpReply {
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  readonly #bodies: BodyReader;
  // Asked for by every request several times, and made by node each time.
  readonly #headers: IncomingMessage["headers"];
  readonly path: string;
  #isReading = false;
  #isAnswered = false;
  /** The client has all it will get, though the connection still takes what it sends. */
  #isWhole = false;
  #isGone = false;
  #gone: (() => void)[] | undefined;

  constructor(req: IncomingMessage, res: ServerResponse, bodies: BodyReader) {
    this.#req = req;
    this.#res = res;
    this.#bodies = bodies;
    this.#headers = req.headers;
    this.path = pathOf(req);
  }

  get method(): string {
    return this.#req.method ?? "";
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

  body(take: TakeBody): void {
    this.#isReading = true;
    this.#bodies.read(this.#req, take);
  }

  send(status: number, headers: HttpHeaders, body?: string): void {
    const res = this.#res;
    if (this.#isAnswered || isGone(this.#req, res)) return;
    const fields = toFields(headers);
    if (body !== undefined) fields.push("content-length", String(Buffer.byteLength(body)));
    else if (status !== 204 && status !== 304) fields.push("content-length", "0");
    const isSending = this.#isSending();
    if ((isSending || isClosing(res)) && headers["connection"] === undefined) fields.push("connection", "close");
    // Throws if a header cannot be sent; another answer can.
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
    if (this.#isGone || isGone(this.#req, this.#res)) queueMicrotask(listener);
    else if (this.#gone !== undefined) this.#gone.push(listener);
    else {
      this.#gone = [listener];
      this.#watch();
    }
  }

  #watch(): void {
    const res = this.#res;
    const closed = () => this.#close();
    res.on("close", closed);
    if (res.socket !== null) return;
    // An answer that waits its turn behind another is not told either.
    const { socket } = this.#req;
    socket.setMaxListeners(0);
    socket.on("close", closed);
    res.on("close", () => socket.off("close", closed));
  }

  #close(): void {
    if (this.#isGone || this.#isWhole || this.#res.writableFinished) return;
    this.#isGone = true;
    for (const listener of this.#gone ?? []) listener();
  }

  /** Whether the client is sending more than an answered request may. */
  #isSending(): boolean {
    if (this.#req.complete) return false;
    const { headers } = this.#req;
    return (
      this.#isReading ||
      headers["transfer-encoding"] !== undefined ||
      Number(headers["content-length"] ?? 0) > smallBody
    );
  }
}

class NodeStream implements EventStream {
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  readonly #fields: string[];
  readonly #flushLater = (): void => this.#flush();
  readonly #atTurnEnd = (): void => process.nextTick(this.#flushLater);
  #pending = "";
  #isScheduled = false;
  #isBegun = false;
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
    // Behind all that is settled in this turn, also where the turn is a tick itself.
    queueMicrotask(this.#atTurnEnd);
  }

  // The headers wait for the end of the turn: with the first events, or with all of them, they are one write.
  #flush(): void {
    this.#isScheduled = false;
    const res = this.#res;
    if (isGone(this.#req, res)) return;
    const text = this.#pending;
    this.#pending = "";
    if (!this.#isBegun) {
      this.#isBegun = true;
      if (this.#isEnded) this.#fields.push("content-length", String(Buffer.byteLength(text)));
      if (isClosing(res)) this.#fields.push("connection", "close");
      res.writeHead(200, this.#fields);
    }
    if (this.#isEnded) res.end(text, isClosing(res) ? () => this.#req.socket.destroySoon() : undefined);
    else if (text === "") res.flushHeaders();
    else res.write(text);
  }
}

/** The connection is asked too: an answer that waits its turn behind another is not destroyed with it. */
function isGone(req: IncomingMessage, res: ServerResponse): boolean {
  return res.destroyed || req.socket.destroyed;
}

/** Names and values in turn, the form that node writes fastest. */
function toFields(headers: HttpHeaders): string[] {
  const fields: string[] = [];
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined) fields.push(name, value);
  }
  return fields;
}

/** A stream writes its headers when nobody is there to hear that node refuses them. */
function assertSendable(fields: readonly string[]): void {
  const wrong = fields.find((field) => /[^\t -~\x80-\xff]/.test(field));
  if (wrong === undefined) return;
  throw new PortolanError("invalid-argument", `headers: expected no control characters, got ${nameOf(wrong)}`);
}

function pathOf(req: IncomingMessage & { readonly originalUrl?: string }): string {
  // Express takes the path under which it mounts a handler off `url`.
  const url = req.originalUrl ?? req.url ?? "";
  if (!url.startsWith("/")) return URL.canParse(url) ? new URL(url).pathname : url;
  const query = url.indexOf("?");
  return query === -1 ? url : url.slice(0, query);
}

/** What a framework that has read a body leaves behind, as `express.json()` does. */
interface Parsed {
  readonly body?: unknown;
}

/** Reads the bodies of one listener; those that take their time are looked after by one timer together. */
class BodyReader {
  readonly #limits: BodyLimits;
  // In no order: every request comes and goes here, and a Set would cost more than the rest of its body.
  readonly #arriving: ArrivingBody[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
  }

  read(req: IncomingMessage & Parsed, take: TakeBody): void {
    const problem = this.#withoutReading(req);
    if (problem !== undefined) {
      take(problem);
      return;
    }
    this.#timer ??= setInterval(this.#look, Math.min(1_000, this.#limits.ms / 4)).unref();
    new ArrivingBody(req, this.#limits, this.#arriving, take);
  }

  /** What is known of a body before it arrives. */
  #withoutReading(req: IncomingMessage & Parsed): string | BodyProblem | undefined {
    const left = req.body;
    // Some frameworks leave an empty object on what they have not read.
    if (left !== undefined && left !== null && (req.readableDidRead || !isEmptyObject(left))) {
      return readParsed(left, this.#limits);
    }
    if (req.readableEnded) return takenAlready();
    if (req.destroyed) return cutOff();
    return Number(req.headers["content-length"]) > this.#limits.bytes ? tooLarge(this.#limits) : undefined;
  }

  readonly #look = (): void => {
    for (const body of [...this.#arriving]) body.look();
    if (this.#arriving.length > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  };
}

const arriving: unique symbol = Symbol("arriving body");
type Reading = IncomingMessage & { [arriving]?: ArrivingBody };

const nothing = new Uint8Array();

// One function for all requests: a closure for each would cost as much as the rest of its body.
function onData(this: Reading, chunk: Buffer): void {
  this[arriving]?.add(chunk);
}

function onEnd(this: Reading): void {
  this[arriving]?.end();
}

/** A body among others that arrive; it takes itself off their list when it is there. */
class ArrivingBody {
  readonly #req: Reading;
  readonly #limits: BodyLimits;
  readonly #others: ArrivingBody[];
  readonly #take: TakeBody;
  readonly #since = performance.now();
  /** Most bodies come in one piece, and need no list. */
  #first: Buffer | undefined;
  #bytes: ByteList | undefined;
  #place: number;

  constructor(req: Reading, limits: BodyLimits, others: ArrivingBody[], take: TakeBody) {
    this.#req = req;
    this.#limits = limits;
    this.#others = others;
    this.#take = take;
    this.#place = others.push(this) - 1;
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
    if (this.#length > this.#limits.bytes) this.#stop(tooLarge(this.#limits));
  }

  end(): void {
    this.#settle(decodeBody(this.#bytes?.take() ?? this.#first ?? nothing));
  }

  get #length(): number {
    return this.#bytes?.length ?? this.#first?.length ?? 0;
  }

  /** Gives up if the client is gone or too slow. */
  look(): void {
    if (this.#req.destroyed) this.#stop(cutOff());
    else if (isTooSlow(this.#length, performance.now() - this.#since, this.#limits)) {
      this.#stop(tooSlow(this.#limits));
    }
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
      this.#others[this.#place] = last;
      last.#place = this.#place;
    }
    this.#take(result);
  }
}

function isEmptyObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

function readParsed(left: unknown, limits: BodyLimits): string | BodyProblem {
  const text = left instanceof Uint8Array ? decodeBody(left) : typeof left === "string" ? left : serialize(left);
  return typeof text === "string" && Buffer.byteLength(text) > limits.bytes ? tooLarge(limits) : text;
}

function serialize(left: unknown): string | BodyProblem {
  try {
    return JSON.stringify(left) ?? takenAlready();
  } catch {
    return takenAlready();
  }
}

const lingerBytes = 1024 * 1024;
const lingerMs = 1_000;

/**
 * Ends an answered request whose client is still sending. A connection closed at once would be reset, and the client
 * would see that instead of the answer; so a little more is read and thrown away.
 */
function linger(req: IncomingMessage, res: ServerResponse): void {
  let left = lingerBytes;
  const drop = () => req.socket.destroy();
  const timer = setTimeout(drop, lingerMs);
  req.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) drop();
  });
  req.on("end", () => res.end());
  req.on("close", () => clearTimeout(timer));
  req.resume();
}

/** Tells whether the server that listens is closing. */
export interface ClosingState {
  isClosing: boolean;
}

/** Marks the responses of a server that `listen` started. */
export const closingState: unique symbol = Symbol("closing");

/** Whether a response is the last of its connection, because the server closes. */
function isClosing(res: ServerResponse): boolean {
  return (res as { [closingState]?: ClosingState })[closingState]?.isClosing === true;
}
