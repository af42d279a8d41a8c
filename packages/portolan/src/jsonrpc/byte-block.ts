/** Smaller messages are kept in the pieces in which they arrived. */
export const largeFrom: number = 1024 * 1024;
/** Memory is taken in these steps, and address space for so many times the present size. */
const stepBytes = 1024 * 1024;
const growth = 4;

/**
 * Bytes that are copied into one block of memory outside the heap as they arrive. Pieces would have to be joined, and
 * the garbage collector would release them too late: a large message would need several times its size.
 */
export class ByteBlock {
  #bytes: Uint8Array = new Uint8Array(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(piece: Uint8Array): void {
    this.#reserve(this.#length + piece.length);
    this.#bytes.set(piece, this.#length);
    this.#length += piece.length;
  }

  pushText(text: string): void {
    this.#reserve(this.#length + text.length * 3);
    this.#length += new TextEncoder().encodeInto(text, this.#bytes.subarray(this.#length)).written;
  }

  /** Removes and returns all bytes; `release` gives their memory back. */
  take(): Uint8Array {
    const bytes = this.#bytes.subarray(0, this.#length);
    this.#bytes = new Uint8Array(0);
    this.#length = 0;
    return bytes;
  }

  takeText(): string {
    const bytes = this.take();
    const text = decode(bytes);
    release(bytes);
    return text;
  }

  #reserve(length: number): void {
    if (length <= this.#bytes.length) return;
    const buffer = this.#bytes.buffer as unknown as ResizableBuffer;
    const size = length + stepBytes;
    if (size <= buffer.maxByteLength) {
      buffer.resize(size);
      return;
    }
    const old = this.take();
    this.#bytes = allocate(size * growth);
    this.push(old);
    release(old);
    this.#reserve(length);
  }
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
}

/** Returns bytes whose buffer can grow up to the capacity, or has it already where buffers cannot grow. */
function allocate(capacity: number): Uint8Array {
  try {
    const bytes = new Uint8Array(new (ArrayBuffer as ResizableConstructor)(1, { maxByteLength: capacity }));
    // Browsers refuse to decode such a buffer.
    decode(bytes);
    return bytes;
  } catch {
    return new Uint8Array(capacity);
  }
}

type ResizableConstructor = new (length: number, options: { maxByteLength: number }) => ArrayBuffer;

/** A buffer that gives its memory back when it shrinks. The type library does not know it yet. */
export interface ResizableBuffer {
  /** Undefined in a runtime without such buffers. */
  readonly resizable?: boolean;
  readonly maxByteLength: number;
  resize(length: number): void;
}

/** Gives the memory of bytes back at once if their buffer can be resized; otherwise the garbage collector does. */
export function release(bytes: Uint8Array): void {
  const buffer = bytes.buffer as unknown as ResizableBuffer;
  if (buffer.resizable) buffer.resize(0);
}
