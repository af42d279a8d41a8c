import type { StringDecoder } from "node:string_decoder";

/** Thrown when the person leaves a question without an answer: Ctrl-C cancels, Ctrl-D declines. */
export class QuestionDismissed extends Error {
  readonly how: "cancel" | "decline";
  /** The text that was typed and not entered. */
  readonly typed: string;

  constructor(how: "cancel" | "decline", typed = "") {
    super(how === "cancel" ? "cancelled" : "declined");
    this.how = how;
    this.typed = typed;
  }
}

/** Thrown when the person goes back to the field before. */
export class PreviousField extends Error {}

/** Sequences around pasted text (bracketed paste). */
export const pasteStart = "\u001b[200~";
export const pasteEnd = "\u001b[201~";

/** True if a text ends before the paste in it does. */
export function endsInPaste(text: string): boolean {
  return text.lastIndexOf(pasteStart) > text.lastIndexOf(pasteEnd);
}

/** Input that was typed for one reader of lines and is not read yet. */
export class TypeAhead {
  ahead = "";
  /** True after a carriage return: a line feed that follows belongs to it. */
  hasReturned = false;
  /** Keeps the first half of a character whose bytes arrive in two chunks. */
  decoder: StringDecoder | undefined;
  /** True between the sequences around pasted text. */
  isPasting = false;

  drop(): void {
    this.ahead = "";
    this.hasReturned = false;
  }
}
