const maxPieces = 256;

/** Text that arrives in pieces and is joined in linear time. Many small pieces are merged into few strings. */
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

  /** Removes and returns all text. */
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
