/** So many small pieces in a row become one: a peer that dribbles bytes must not cost us an object for each. */
const mergeAfter = 256;
const smallPiece = 1024;

/** Bytes that arrive in pieces and are joined once; pieces are kept by reference, so nobody may write to them later. */
export class ByteList {
  #pieces: Uint8Array[] = [];
  #length = 0;
  #loosePieces = 0;
  #looseBytes = 0;

  get length(): number {
    return this.#length;
  }

  push(piece: Uint8Array): void {
    this.#pieces.push(piece);
    this.#length += piece.length;
    this.#loosePieces += 1;
    this.#looseBytes += piece.length;
    if (this.#loosePieces === mergeAfter) this.#merge();
  }

  /** All bytes in one array; the list is empty afterwards. */
  take(): Uint8Array {
    const length = this.#length;
    return join(this.takePieces(), length);
  }

  /** The bytes as they are kept, without joining them; the list is empty afterwards. */
  takePieces(): Uint8Array[] {
    const pieces = this.#pieces;
    this.#pieces = [];
    this.#length = this.#loosePieces = this.#looseBytes = 0;
    return pieces;
  }

  // Only the newest pieces are copied, and only while they are small: each byte moves once here and once in take().
  #merge(): void {
    if (this.#looseBytes < mergeAfter * smallPiece) {
      this.#pieces.push(join(this.#pieces.splice(-mergeAfter), this.#looseBytes));
    }
    this.#loosePieces = this.#looseBytes = 0;
  }
}

function join(pieces: Uint8Array[], length: number): Uint8Array {
  const [first] = pieces;
  if (pieces.length === 1 && first !== undefined) return first;
  const joined = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    joined.set(piece, at);
    at += piece.length;
  }
  return joined;
}
