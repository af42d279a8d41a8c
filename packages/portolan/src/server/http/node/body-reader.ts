import type { IncomingMessage } from "node:http";
import { ByteList } from "../../../jsonrpc/framing.ts";
import type { BodyProblem, TakeBody } from "../adapter.ts";
import { type BodyLimits, cutOff, decodeBody, isTooSlow, takenAlready, tooLarge, tooSlow } from "../body.ts";

/** What a framework that has read a body leaves behind, as `express.json()` does. */
interface Parsed {
  readonly body?: unknown;
}

/** Reads the bodies of one listener; those that take their time are looked after by one timer together. */
export class BodyReader {
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
