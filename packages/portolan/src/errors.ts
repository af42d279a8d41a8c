/** The kinds of failure on this side. A closed set, so that `switch` narrows. */
export type PortolanErrorCode =
  | "invalid-definition"
  | "invalid-argument"
  | "connection-closed"
  | "message-too-large"
  | "unserializable"
  | "capability-missing"
  | "answer-invalid"
  | "question-repeated"
  | "question-changed"
  | "exchange-ended"
  | "cancelled"
  | "timeout"
  | "limit-reached"
  | "version-mismatch"
  | "unauthorized"
  | "login-required"
  | "address-refused"
  | "store-failed"
  | "http-status"
  | "server-unavailable"
  | "denied"
  | "unanswered"
  | "model-failed"
  | "task-lost"
  | "task-detached"
  | "skill-unverified";

/** A failure on this side. It is never sent to the peer. */
export class PortolanError extends Error {
  override name = "PortolanError";
  readonly code: PortolanErrorCode;

  constructor(code: PortolanErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Describes a value for an error message. Long values are not quoted in full. */
export function nameOf(value: unknown): string {
  if (value === null) return "null";
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return "an array";
  switch (typeof value) {
    case "string":
      return value.length > 40 ? `a string of ${value.length} characters` : JSON.stringify(value);
    case "number":
    case "boolean":
    case "bigint":
      return `${typeof value} ${value}`;
    case "object":
      return "an object";
    default:
      return `a ${typeof value}`;
  }
}
