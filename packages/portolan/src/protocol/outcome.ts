import type { JsonObject } from "../jsonrpc/message.ts";
import type { InputRequests } from "./types/index.ts";

/** A finished result. `boxed` marks structured content whose schema is no object, which older peers get in a box. */
export interface Complete {
  readonly kind: "complete";
  readonly result: JsonObject;
  readonly boxed?: boolean;
  /** Tells that the result is structured content and this JSON text of it, which then need not be made a second time. */
  readonly mirror?: string | undefined;
}

/** A finished result, encoded for the peer's revision and serialized already. */
export interface PreparedResult {
  readonly kind: "prepared";
  readonly resultText: string;
}

/** The client is asked first, and calls again with the answers. */
export interface InputRequired {
  readonly kind: "input_required";
  readonly requests?: InputRequests;
  readonly state?: string;
}

/** A result of a type that an extension defines. */
export interface Extended {
  readonly kind: "extended";
  readonly resultType: string;
  readonly result: JsonObject;
}

/** What a handler produced, before a revision puts it on the wire. */
export type Outcome = Complete | PreparedResult | InputRequired | Extended;

export function complete(result: JsonObject): Complete {
  return { kind: "complete", result };
}
