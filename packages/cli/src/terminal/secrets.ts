/** Shorter values occur in other words. */
const minChars = 4;
const mark = "[hidden]";

/** The secrets in the configuration of servers, which our own messages must not show. */
export class Secrets {
  readonly #known = new Set<string>();

  add(values: Iterable<string>): void {
    for (const value of values) {
      if (value.length < minChars) continue;
      const inJson = JSON.stringify(value).slice(1, -1);
      for (const form of [value, encodeURIComponent(value), encodeURI(value), inJson]) this.#known.add(form);
    }
  }

  /** Replaces the secrets in a text. */
  hide(text: string): string {
    let hidden = text;
    // The longest first: one secret may be the beginning of another.
    for (const secret of [...this.#known].sort((a, b) => b.length - a.length)) {
      hidden = hidden.replaceAll(secret, mark);
    }
    return hidden;
  }

  /** Replaces the secrets in all texts of a JSON value. */
  hideIn<T>(value: T): T {
    if (this.#known.size === 0) return value;
    return JSON.parse(JSON.stringify(value), (_, it: unknown) => (typeof it === "string" ? this.hide(it) : it)) as T;
  }
}
