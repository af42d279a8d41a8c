import { type Signal, signal } from "@preact/signals";

const prefix = "portolan-draft:";
/** Longer drafts are kept until the page is left, but not over a reload. */
const maxDraftChars = 200_000;

/** Texts that the person has typed and not sent, kept over a reload of this tab. Only the person's own words belong here. */
export class Drafts {
  readonly #signals = new Map<string, Signal<unknown>>();

  /** The draft of a place. It is kept whenever it changes. */
  get<T>(place: string, initial: T): Signal<T> {
    const known = this.#signals.get(place);
    if (known) return known as Signal<T>;
    const made: Signal<unknown> = signal(read(place) ?? initial);
    this.#signals.set(place, made);
    made.subscribe((value) => write(place, value === initial ? undefined : value));
    return made as Signal<T>;
  }

  /** Forgets a draft that was sent. */
  drop(place: string): void {
    this.#signals.delete(place);
    write(place, undefined);
  }
}

function read(place: string): unknown {
  try {
    const text = sessionStorage.getItem(prefix + place);
    return text === null ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

function write(place: string, value: unknown): void {
  try {
    const text = value === undefined ? "" : JSON.stringify(value);
    if (text === "" || text.length > maxDraftChars) sessionStorage.removeItem(prefix + place);
    else sessionStorage.setItem(prefix + place, text);
  } catch {
    // A full storage must not stop typing.
  }
}
