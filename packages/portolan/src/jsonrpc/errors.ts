import type { ErrorObject } from "./message.ts";

/** Where in the life of a request an error arose; an HTTP status is chosen by it. */
export type ErrorStage = "envelope" | "dispatch" | "handler";

export interface RpcErrorOptions extends ErrorOptions {
  data?: unknown;
  stage?: ErrorStage;
  /** A name that stays the same where the numeric code differs between protocol revisions. */
  kind?: string;
}

/** An error that crosses the wire: the peer sees its code, message and data. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number;
  readonly data: unknown;
  readonly stage: ErrorStage;
  readonly kind: string | undefined;

  constructor(code: number, message: string, options: RpcErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    // A code that is no integer cannot travel; the peer is told that something inside failed.
    this.code = Number.isInteger(code) ? code : -32603;
    this.data = options.data;
    this.stage = options.stage ?? "handler";
    this.kind = options.kind;
  }

  toErrorObject(): ErrorObject {
    const { code, message, data } = this;
    return data === undefined ? { code, message } : { code, message, data };
  }
}
