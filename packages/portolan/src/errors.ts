/** Why something on our own side failed; one closed set, so that `switch` narrows. */
export type PortolanErrorCode =
  | "invalid-definition"
  | "invalid-argument"
  | "connection-closed"
  | "message-too-large"
  | "unserializable"
  | "capability-missing"
  | "answer-invalid"
  | "question-repeated"
  | "exchange-ended"
  | "cancelled"
  | "timeout"
  | "limit-reached";

/** A failure on our own side: nothing of it is meant for the peer. */
export class PortolanError extends Error {
  override readonly name = "PortolanError";
  readonly code: PortolanErrorCode;

  constructor(code: PortolanErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
