import type { Watch } from "./watch.ts";

/** How long the end of an answer is waited for once all is said, so that the connection can be used again. */
const lingerMs = 200;
const lingerChars = 64 * 1024;

/** How long whatever comes after the end of a turn is waited for: usage, and the word that all is said. */
const graceMs = 2_000;

/** The text of an answer, piece by piece. */
export class Chunks {
  readonly #watch: Watch;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  readonly #decoder = new TextDecoder();
  #isOver = false;

  constructor({ body }: Response, watch: Watch) {
    this.#watch = watch;
    this.#reader = body?.getReader();
  }

  /** The next piece; undefined at the end. */
  async next(): Promise<string | undefined> {
    if (this.#reader === undefined || this.#isOver) return undefined;
    const { done, value } = await this.#watch.wait(this.#reader.read());
    if (!done) return this.#decoder.decode(value, { stream: true });
    this.#isOver = true;
    return this.#decoder.decode();
  }

  /** The next piece of an answer that needs none; undefined when it does not come, or not soon. */
  async nextSoon(): Promise<string | undefined> {
    const chunk = await within(graceMs, this.next().catch(nothing));
    this.#watch.throwIfGivenUp();
    return chunk;
  }

  /** All of it, up to a length. */
  async text(maxChars: number): Promise<string> {
    const parts: string[] = [];
    let length = 0;
    for (let chunk = await this.next(); chunk !== undefined && length < maxChars; chunk = await this.next()) {
      parts.push(chunk);
      length += chunk.length;
    }
    this.close();
    return parts.join("").slice(0, maxChars);
  }

  /** Gives the answer a moment to end by itself. */
  async linger(): Promise<void> {
    if (this.#isOver) return;
    // The turn is complete: how its connection ends is of no interest.
    await within(lingerMs, this.text(lingerChars).catch(nothing));
  }

  /** Frees the connection when not all was read. */
  close(): void {
    this.#reader?.cancel().catch(nothing);
  }
}

/** What comes of some work; undefined when it takes longer. */
async function within<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, ms, undefined);
  });
  const outcome = await Promise.race([work, late]);
  clearTimeout(timer);
  return outcome;
}

function nothing(): undefined {
  return undefined;
}
