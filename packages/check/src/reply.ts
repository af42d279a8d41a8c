import { at, isObject, type JsonObject, show } from "./json.ts";
import type { Posted } from "./wire/wire.ts";

/** What came for one request, and how to expect something of it. */
export class Reply {
  readonly id: unknown;
  /** What was asked, for the evidence. */
  readonly sent: string;
  readonly message: JsonObject | undefined;
  readonly posted: Posted;

  constructor(sent: string, id: unknown, message: JsonObject | undefined, posted: Posted) {
    this.sent = sent;
    this.id = id;
    this.message = message;
    this.posted = posted;
  }

  /** Undefined where there is no such thing. */
  get status(): number | undefined {
    return this.posted.status;
  }

  /** What came, in one line. */
  get seen(): string {
    const what = this.message ? show(this.message) : this.posted.body === "" ? "nothing" : show(this.posted.body);
    return this.status === undefined || this.status === 200 ? what : `HTTP ${this.status} ${what}`;
  }

  get code(): unknown {
    return at(this.message, "error", "code");
  }

  get isError(): boolean {
    return isObject(at(this.message, "error"));
  }

  /** The result, which has to be one for this very request. */
  result(): JsonObject {
    const result = at(this.message, "result");
    const isFine = isObject(result) && this.message?.["id"] === this.id && !this.isError;
    check(isFine, () => this.evidence("a result under the id of the request"));
    return result;
  }

  /** Expects an error for this very request, with one of the codes where some are given. */
  error(...codes: readonly number[]): JsonObject {
    const error = at(this.message, "error");
    const expected = codes.length === 0 ? "an error" : `error ${codes.join(" or ")}`;
    const isFine = isObject(error) && this.message?.["id"] === this.id && Number.isInteger(error["code"]);
    check(isFine && typeof error["message"] === "string", () =>
      this.evidence(`${expected} under the id of the request`),
    );
    check(codes.length === 0 || codes.includes(Number(error["code"])), () => this.evidence(expected));
    return error;
  }

  evidence(expected: string): string {
    return `sent ${this.sent}; got ${this.seen}; expected ${expected}`;
  }

  fail(expected: string): never {
    throw new Failed(this.evidence(expected));
  }

  /** One line for when it was right. */
  get proof(): string {
    return `sent ${this.sent}; got ${this.seen}`;
  }
}

/** The server did not do what a scenario expected; the message is the evidence. */
export class Failed extends Error {}

/** The scenario has nothing to look at on this server; the message is the reason. */
export class NotApplicable extends Error {}

/** The server did not answer in time. */
export class Silence extends Failed {}

/** Fails with the evidence unless something holds. */
export function check(holds: boolean, evidence: () => string): asserts holds {
  if (!holds) throw new Failed(evidence());
}
