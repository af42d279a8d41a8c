import type { Operation } from "./operations.ts";

/** An operation as selectors see it. */
type Selectable = Pick<Operation, "method" | "path"> & {
  readonly id?: string;
  readonly name?: string;
  readonly tags?: readonly string[];
};

/** Chooses operations by texts such as `issues/*`, `GET /repos/*` and `tag:issues`. */
export class Selection {
  readonly #selectors: readonly Selector[];

  constructor(texts: readonly string[]) {
    this.#selectors = texts.map((text) => new Selector(text));
  }

  has(operation: Selectable): boolean {
    return this.#selectors.some((selector) => selector.selects(operation));
  }

  /** Returns the texts that select none of the operations: mistakes. */
  unused(operations: readonly Selectable[]): string[] {
    return this.#selectors
      .filter((one) => !operations.some((operation) => one.selects(operation)))
      .map(({ text }) => text);
  }
}

class Selector {
  readonly text: string;
  readonly #isTag: boolean;
  readonly #method: string | undefined;
  readonly #parts: readonly string[];

  constructor(text: string) {
    this.text = text;
    const [, method, path] = /^(\*|[A-Za-z]+) (\/.*)$/.exec(text) ?? [];
    this.#isTag = text.startsWith("tag:");
    this.#method = method?.toUpperCase();
    this.#parts = (path ?? (this.#isTag ? text.slice("tag:".length) : text)).split("*");
  }

  selects({ id, name, method, path, tags = [] }: Selectable): boolean {
    if (this.#isTag) return tags.some((tag) => matches(tag, this.#parts));
    if (this.#method !== undefined) {
      return (this.#method === "*" || this.#method === method) && matches(path, this.#parts);
    }
    return [id, name].some((each) => each !== undefined && matches(each, this.#parts));
  }
}

/** Returns true if a text consists of the parts with anything between them. No regular expression: it could take long. */
function matches(text: string, [first = "", ...rest]: readonly string[]): boolean {
  const last = rest.pop();
  if (last === undefined) return text === first;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = text.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}
