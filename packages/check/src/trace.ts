import type { RevisionDate, Transport } from "./revisions.ts";

/** Seen from the grader. */
export type Direction = "sent" | "received";

/** Where a message passed. */
export interface TraceContext {
  readonly revision: RevisionDate;
  readonly transport: Transport;
  /** Tells the connections of one grading apart. */
  readonly connection: number;
  /** The scenario that ran; undefined before the first one. */
  readonly scenario: string | undefined;
}

/** Hears a message or a batch as it passes; what is no JSON comes as its text. */
export type OnMessage = (direction: Direction, message: unknown, context: TraceContext) => void;

/** Hears what passes on one connection. */
export type Tap = (direction: Direction, message: unknown) => void;

/** Tells of all that passes while a server is graded. */
export class Trace {
  scenario: string | undefined = undefined;
  readonly #onMessage: OnMessage | undefined;
  #connections = 0;

  constructor(onMessage: OnMessage | undefined) {
    this.#onMessage = onMessage;
  }

  /** A tap for one more connection. */
  tap(revision: RevisionDate, transport: Transport): Tap | undefined {
    const onMessage = this.#onMessage;
    if (!onMessage) return undefined;
    this.#connections += 1;
    const connection = this.#connections;
    return (direction, message) =>
      onMessage(direction, message, { revision, transport, connection, scenario: this.scenario });
  }
}

/** The JSON of a text; the text itself when it is none. */
export function toValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
