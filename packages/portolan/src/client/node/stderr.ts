const blockBytes = 16 * 1024;
const maxBlocks = 16;
const maxLineLength = 8 * 1024;

/** Keeps the last 256 KB of what a child writes to standard error, and hands each line on as it comes. */
export class StderrTail {
  readonly #blocks: Uint8Array[] = [];
  /** How much of the last block is filled. */
  #filled = blockBytes;
  readonly #lines: LineSplitter | undefined;

  constructor(hear: ((line: string) => void) | undefined) {
    this.#lines = hear && new LineSplitter(hear);
  }

  push(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length; ) {
      const block = this.#openBlock();
      const piece = chunk.subarray(at, at + blockBytes - this.#filled);
      block.set(piece, this.#filled);
      this.#filled += piece.length;
      at += piece.length;
    }
    this.#lines?.push(chunk);
  }

  /** The stream is over: a last line without its newline is handed on all the same. */
  end(): void {
    this.#lines?.end();
  }

  get text(): string {
    const bytes = Buffer.concat(this.#blocks, (this.#blocks.length - 1) * blockBytes + this.#filled);
    // Where older text was dropped, the first character may have lost its start.
    let start = 0;
    while (start < 3 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1;
    return bytes.toString("utf8", start);
  }

  #openBlock(): Uint8Array {
    const last = this.#blocks.at(-1);
    if (last && this.#filled < blockBytes) return last;
    const block = new Uint8Array(blockBytes);
    this.#blocks.push(block);
    if (this.#blocks.length > maxBlocks) this.#blocks.shift();
    this.#filled = 0;
    return block;
  }
}

/** Lines out of bytes; a very long one is cut, and its rest is not waited for. */
class LineSplitter {
  readonly #hear: (line: string) => void;
  readonly #decoder = new TextDecoder();
  #line = "";
  #isCut = false;

  constructor(hear: (line: string) => void) {
    this.#hear = hear;
  }

  push(chunk: Uint8Array): void {
    const text = this.#decoder.decode(chunk, { stream: true });
    let start = 0;
    for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", start)) {
      this.#hold(text.slice(start, end));
      this.#endLine();
      start = end + 1;
    }
    this.#hold(text.slice(start));
  }

  end(): void {
    this.#hold(this.#decoder.decode());
    if (this.#line !== "") this.#endLine();
  }

  #hold(text: string): void {
    if (this.#isCut) return;
    this.#line += text;
    if (this.#line.length <= maxLineLength) return;
    this.#tell(`${this.#line.slice(0, maxLineLength)}…`);
    this.#line = "";
    this.#isCut = true;
  }

  #endLine(): void {
    if (!this.#isCut) this.#tell(this.#line.endsWith("\r") ? this.#line.slice(0, -1) : this.#line);
    this.#line = "";
    this.#isCut = false;
  }

  #tell(line: string): void {
    try {
      this.#hear(line);
    } catch {
      // A listener that fails is no reason to stop reading: a child nobody reads comes to a halt.
    }
  }
}
