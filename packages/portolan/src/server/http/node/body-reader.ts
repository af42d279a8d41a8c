import type { IncomingMessage } from "node:http";
import { ByteList } from "../../../jsonrpc/byte-list.ts";
import { type BodyLimits, cutOff, decodeBody, isTooSlow, takenAlready, tooLarge, tooSlow } from "../body.ts";
import type { BodyProblem } from "../door.ts";

/** What a framework that has read a body leaves behind, as `express.json()` does. */
interface Parsed {
  readonly body?: unknown;
}

/** Reads the bodies of one listener; those that take their time are looked after by one timer together. */
export class BodyReader {
  readonly #limits: BodyLimits;
  readonly #arriving = new Set<ArrivingBody>();
  #timer: NodeJS.Timeout | undefined;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
  }

  read(req: IncomingMessage & Parsed): Promise<string | BodyProblem> {
    const left = req.body;
    // Some frameworks leave an empty object on what they have not read.
    if (left !== undefined && left !== null && (req.readableDidRead || !isEmptyObject(left))) {
      return Promise.resolve(readParsed(left, this.#limits));
    }
    if (req.readableEnded) return Promise.resolve(takenAlready());
    if (req.destroyed) return Promise.resolve(cutOff());
    if (Number(req.headers["content-length"]) > this.#limits.bytes) return Promise.resolve(tooLarge(this.#limits));
    return new Promise((resolve) => {
      const body = new ArrivingBody(req, this.#limits, (result) => {
        this.#arriving.delete(body);
        resolve(result);
      });
      this.#arriving.add(body);
      this.#timer ??= setInterval(this.#look, Math.min(1_000, this.#limits.ms / 4)).unref();
    });
  }

  readonly #look = (): void => {
    for (const body of this.#arriving) body.hurry();
    if (this.#arriving.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  };
}

class ArrivingBody {
  readonly #req: IncomingMessage;
  readonly #limits: BodyLimits;
  readonly #done: (result: string | BodyProblem) => void;
  readonly #since = performance.now();
  readonly #bytes = new ByteList();

  constructor(req: IncomingMessage, limits: BodyLimits, done: (result: string | BodyProblem) => void) {
    this.#req = req;
    this.#limits = limits;
    this.#done = done;
    req.on("data", this.#onData);
    req.on("end", this.#onEnd);
    req.on("close", this.#onClose);
  }

  /** Gives up if the client is too slow. */
  hurry(): void {
    if (isTooSlow(this.#bytes.length, performance.now() - this.#since, this.#limits)) this.#stop(tooSlow(this.#limits));
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#bytes.push(chunk);
    if (this.#bytes.length > this.#limits.bytes) this.#stop(tooLarge(this.#limits));
  };

  readonly #onEnd = (): void => this.#done(decodeBody(this.#bytes.take()));

  readonly #onClose = (): void => this.#done(cutOff());

  #stop(problem: BodyProblem): void {
    this.#req.off("data", this.#onData).off("end", this.#onEnd).off("close", this.#onClose).pause();
    this.#bytes.takePieces();
    this.#done(problem);
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
