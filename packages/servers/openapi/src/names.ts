import { createHash } from "node:crypto";

/** Many models accept no longer names. */
const maxLength = 64;
const hashLength = 6;

interface Identity {
  readonly id?: string;
  readonly method: string;
  readonly path: string;
}

/**
 * Gives each operation a name of its own that models accept: letters, digits, `_` and `-`. The name depends on the
 * operation and on equal names before it, so it stays when others are added at the end.
 */
export class Names {
  readonly #renames: { readonly [operation: string]: string };
  readonly #used = new Set<string>();
  readonly #unused: Set<string>;

  constructor(renames: { readonly [operation: string]: string }) {
    this.#renames = renames;
    this.#unused = new Set(Object.keys(renames));
  }

  nameOf({ id, method, path }: Identity): string {
    const key = `${method} ${path}`;
    const known = [id, key].find((each) => each !== undefined && Object.hasOwn(this.#renames, each));
    if (known !== undefined) this.#unused.delete(known);
    const wanted = toName(known === undefined ? (id ?? key) : (this.#renames[known] as string)) || toName(key);
    const isFree = wanted.length <= maxLength && !this.#used.has(wanted);
    const name = isFree ? wanted : `${cut(wanted)}_${hashOf(key)}`;
    this.#used.add(name);
    return name;
  }

  /** Returns a line for each new name whose operation does not exist. */
  unusedRenames(): string[] {
    return [...this.#unused].map((operation) => `names: no operation is "${operation}"`);
  }
}

/** Converts a text to a name. A path variable keeps its name: `GET /pets/{id}` becomes `get_pets_id`. */
export function toName(text: string): string {
  const spelled = /^[A-Z]+ \//.test(text) ? text.toLowerCase() : text;
  return spelled.replace(/[^A-Za-z0-9_-]+/g, "_").replace(/^[_-]+|[_-]+$/g, "");
}

/** Cuts a name at the end of a word, so that a hash still fits. */
function cut(name: string): string {
  const most = maxLength - hashLength - 1;
  if (name.length <= most) return name;
  const end = Math.max(name.lastIndexOf("_", most), name.lastIndexOf("-", most));
  return name.slice(0, end > most / 2 ? end : most);
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, hashLength);
}
