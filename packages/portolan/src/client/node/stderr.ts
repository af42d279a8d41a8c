import { maxStderrBlocks, maxStderrLineChars, stderrBlockBytes, stderrHeadBytes } from "../limits.ts";

/** Keeps the beginning and the last 256 KB of a child's standard error, and passes each line to a listener. */
export class StderrTail {
  readonly #blocks: Uint8Array[] = [];
  /** The beginning of the first block, once that is dropped. */
  #head: Uint8Array | undefined;
  /** Bytes in use of the last block. */
  #filled = stderrBlockBytes;
  readonly #splitters: LineSplitter[] = [];

  constructor(onLine: ((line: string) => void) | undefined) {
    if (onLine) this.listen(onLine);
  }

  /** Passes each line to one more listener. Only before the first chunk. */
  listen(onLine: (line: string) => void): void {
    this.#splitters.push(new LineSplitter(onLine));
  }

  push(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length; ) {
      const block = this.#openBlock();
      const piece = chunk.subarray(at, at + stderrBlockBytes - this.#filled);
      block.set(piece, this.#filled);
      this.#filled += piece.length;
      at += piece.length;
    }
    for (const splitter of this.#splitters) splitter.push(chunk);
  }

  /** Ends the stream and emits a last line without a newline. */
  end(): void {
    for (const splitter of this.#splitters) splitter.end();
  }

  get text(): string {
    const bytes = Buffer.concat(this.#blocks, (this.#blocks.length - 1) * stderrBlockBytes + this.#filled);
    // Older blocks are dropped, so the first character may be incomplete.
    let start = 0;
    while (start < 3 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1;
    return bytes.toString("utf8", start);
  }

  /** The first 2 KB of the stream if they are no longer part of `text`, otherwise empty. */
  get head(): string {
    return Buffer.from(this.#head ?? []).toString();
  }

  #openBlock(): Uint8Array {
    const last = this.#blocks.at(-1);
    if (last && this.#filled < stderrBlockBytes) return last;
    const block = new Uint8Array(stderrBlockBytes);
    this.#blocks.push(block);
    if (this.#blocks.length > maxStderrBlocks) {
      const dropped = this.#blocks.shift();
      this.#head ??= dropped?.slice(0, stderrHeadBytes);
    }
    this.#filled = 0;
    return block;
  }
}

/** Splits bytes into lines. A very long line is emitted as soon as it is too long, and its rest is dropped. */
class LineSplitter {
  readonly #onLine: (line: string) => void;
  readonly #decoder = new TextDecoder();
  #line = "";
  #isCut = false;

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
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
    if (this.#line.length <= maxStderrLineChars) return;
    this.#emit(`${this.#line.slice(0, maxStderrLineChars)}…`);
    this.#line = "";
    this.#isCut = true;
  }

  #endLine(): void {
    if (!this.#isCut) this.#emit(this.#line.endsWith("\r") ? this.#line.slice(0, -1) : this.#line);
    this.#line = "";
    this.#isCut = false;
  }

  #emit(line: string): void {
    try {
      this.#onLine(line);
    } catch {
      // Reading goes on if a listener throws: a child whose pipe is full stops.
    }
  }
}
