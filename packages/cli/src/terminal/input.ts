import type { StringDecoder } from "node:string_decoder";

/** The person has left a question without an answer: with Ctrl-C, or with Ctrl-D where input ends. */
export class QuestionDismissed extends Error {
  readonly how: "cancel" | "decline";

  constructor(how: "cancel" | "decline") {
    super(how === "cancel" ? "cancelled" : "declined");
    this.how = how;
  }
}

/** The person wants to change what was asked before. */
export class PreviousField extends Error {}

/** What was typed for one reader of lines and is not read yet. */
export class TypeAhead {
  ahead = "";
  /** A line feed that follows is the other half of the end of a line. */
  hasReturned = false;
  /** A character may come in two halves. */
  decoder: StringDecoder | undefined;

  drop(): void {
    this.ahead = "";
    this.hasReturned = false;
  }
}
