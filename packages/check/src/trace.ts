import type { RevisionDate, Transport } from "./revisions.ts";

/** The direction of a message, seen from the grader. */
export type Direction = "sent" | "received";

/** Where a message was sent or received. */
export interface TraceContext {
  readonly revision: RevisionDate;
  readonly transport: Transport;
  /** Number of the connection within one grading. */
  readonly connection: number;
  /** The running scenario; undefined before the first one. */
  readonly scenario: string | undefined;
}

/** Called with each message or batch; a text that is not JSON is passed as it is. */
export type OnMessage = (direction: Direction, message: unknown, context: TraceContext) => void;

/** Called with each message of one connection. */
export type Tap = (direction: Direction, message: unknown) => void;

/** Reports all messages of a grading to `onMessage`. */
export class Trace {
  scenario: string | undefined = undefined;
  readonly #onMessage: OnMessage | undefined;
  #connections = 0;

  constructor(onMessage: OnMessage | undefined) {
    this.#onMessage = onMessage;
  }

  /** Returns the tap for one more connection. */
  tap(revision: RevisionDate, transport: Transport): Tap | undefined {
    const onMessage = this.#onMessage;
    if (!onMessage) return undefined;
    this.#connections += 1;
    const connection = this.#connections;
    return (direction, message) =>
      onMessage(direction, message, { revision, transport, connection, scenario: this.scenario });
  }
}

/** Parses JSON; returns the text itself if it is not JSON. */
export function toValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
