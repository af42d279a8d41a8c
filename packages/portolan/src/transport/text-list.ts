const maxPieces = 256;

/** Text that comes in pieces: joined when it is taken, in linear time, and a long dribble is kept in few strings. */
export class TextList {
  #text = "";
  #pieces: string[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(piece: string): void {
    this.#length += piece.length;
    if (this.#pieces.push(piece) === maxPieces) this.#text += this.#takePieces();
  }

  /** All of the text; the list is empty afterwards. */
  take(): string {
    const text = this.#text + this.#takePieces();
    this.#text = "";
    this.#length = 0;
    return text;
  }

  #takePieces(): string {
    const text = this.#pieces.join("");
    this.#pieces = [];
    return text;
  }
}
