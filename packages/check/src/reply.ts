import { at, isObject, type JsonObject, show } from "./json.ts";
import type { PostResult } from "./wire/wire.ts";

/** The response to one request, with assertions. */
export class Reply {
  readonly id: unknown;
  /** The request, for the evidence. */
  readonly sent: string;
  readonly message: JsonObject | undefined;
  readonly posted: PostResult;

  constructor(sent: string, id: unknown, message: JsonObject | undefined, posted: PostResult) {
    this.sent = sent;
    this.id = id;
    this.message = message;
    this.posted = posted;
  }

  /** The HTTP status; undefined over stdio. */
  get status(): number | undefined {
    return this.posted.status;
  }

  /** The response in one line. */
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

  /** Returns the result. Fails unless it is one for this request. */
  result(): JsonObject {
    const result = at(this.message, "result");
    const isFine = isObject(result) && this.message?.["id"] === this.id && !this.isError;
    check(isFine, () => this.evidence("a result under the id of the request"));
    return result;
  }

  /** Returns the error. Fails unless it is one for this request, with one of the codes if some are given. */
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
    throw new ExpectationFailed(this.evidence(expected));
  }

  /** Request and response in one line, for a passed scenario. */
  get summary(): string {
    return `sent ${this.sent}; got ${this.seen}`;
  }
}

/** The server did not behave as expected; the message is the evidence. */
export class ExpectationFailed extends Error {}

/** The scenario does not apply to this server; the message is the reason. */
export class NotApplicable extends Error {}

/** The server did not answer in time. */
export class TimedOut extends ExpectationFailed {}

/** Throws with the evidence unless the condition holds. */
export function check(holds: boolean, evidence: () => string): asserts holds {
  if (!holds) throw new ExpectationFailed(evidence());
}
