import { ByteBlock, largeFrom } from "../jsonrpc/byte-block.ts";

const maxPieces = 256;

/** Text that arrives in pieces and is joined in linear time. Many small pieces are merged into few strings. */
export class TextList {
  #text = "";
  #pieces: string[] = [];
  #length = 0;
  /** The beginning of a large text, outside the heap. */
  #block: ByteBlock | undefined;

  get length(): number {
    return this.#length;
  }

  push(piece: string): void {
    this.#length += piece.length;
    if (this.#length > largeFrom) this.#block ??= new ByteBlock();
    if (this.#pieces.push(piece) === maxPieces || this.#block) this.#merge();
  }

  /** Removes and returns all text. */
  take(): string {
    this.#merge();
    const text = (this.#block?.takeText() ?? "") + this.#text;
    this.#block = undefined;
    this.#text = "";
    this.#length = 0;
    return text;
  }

  #merge(): void {
    const text = this.#text + this.#pieces.join("");
    // The first half of a character waits for its other half.
    const isSplit = (text.charCodeAt(text.length - 1) & 0xfc00) === 0xd800;
    const end = this.#block ? text.length - Number(isSplit) : 0;
    this.#block?.pushText(text.slice(0, end));
    this.#text = text.slice(end);
    this.#pieces = [];
  }
}
