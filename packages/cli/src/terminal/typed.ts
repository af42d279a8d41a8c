import type { StringDecoder } from "node:string_decoder";

/** What was typed for one reader of lines and is not read yet. */
export class Typed {
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
