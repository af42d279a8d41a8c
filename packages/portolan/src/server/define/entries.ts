import { PortolanError } from "../../errors.ts";
import type { ExtraMethod, ServerExtension } from "../extension.ts";
import type { NotificationHandler, Parts } from "./snapshot.ts";

/** One thing a server was told. */
export type Entry =
  | { readonly kind: "tools" | "resources" | "templates" | "prompts"; readonly feature: { readonly key: string } }
  | { readonly kind: "middleware"; readonly feature: Parts["middleware"][number] }
  | { readonly kind: "extensions"; readonly feature: ServerExtension }
  | { readonly kind: "method"; readonly name: string; readonly feature: ExtraMethod }
  | { readonly kind: "notification"; readonly name: string; readonly feature: NotificationHandler };

/** An append-only list that versions share: adding is one step, and no version sees what was added after it. */
export class Entries {
  readonly #entries: Entry[];
  readonly #keys: Map<string, number>;
  readonly length: number;

  constructor(entries: Entry[], keys: Map<string, number> = new Map(), length: number = entries.length) {
    this.#entries = entries;
    this.#keys = keys;
    this.length = length;
  }

  add(entry: Entry): Entries {
    // Another version went its own way from here: this one needs lists of its own.
    if (this.#entries.length !== this.length) return this.#copy().add(entry);
    const key = keyOf(entry);
    if (key !== undefined) {
      if (this.#keys.has(key))
        throw new PortolanError("invalid-definition", `${key} is defined twice; names must differ`);
      this.#keys.set(key, this.length);
    }
    this.#entries.push(entry);
    return new Entries(this.#entries, this.#keys);
  }

  /** All but one feature; the definition it leaves keeps it. */
  without(kind: Entry["kind"], key: string): Entries {
    const kept = this.#entries.slice(0, this.length).filter((entry) => entry.kind !== kind || entryKey(entry) !== key);
    if (kept.length === this.length) {
      throw new PortolanError(
        "invalid-argument",
        `without: expected one of the ${kind} that are defined, got "${key}"`,
      );
    }
    return kept.reduce((all, entry) => all.add(entry), new Entries([]));
  }

  #copy(): Entries {
    const keys = new Map([...this.#keys].filter(([, index]) => index < this.length));
    return new Entries(this.#entries.slice(0, this.length), keys);
  }

  toParts(): Parts {
    const entries = this.#entries.slice(0, this.length);
    const features = <T>(kind: Entry["kind"]): T[] =>
      entries.filter((entry) => entry.kind === kind).map((entry) => entry.feature as T);
    const named = <T>(kind: Entry["kind"]): Map<string, T> =>
      new Map(
        entries.flatMap((entry) => (entry.kind === kind && "name" in entry ? [[entry.name, entry.feature as T]] : [])),
      );
    return {
      tools: features("tools"),
      resources: features("resources"),
      templates: features("templates"),
      prompts: features("prompts"),
      middleware: features("middleware"),
      extensions: features("extensions"),
      methods: named("method"),
      notifications: named("notification"),
    };
  }
}

function keyOf(entry: Entry): string | undefined {
  if (entry.kind === "middleware") return undefined;
  if (entry.kind === "extensions") return `Extension "${entry.feature.id}"`;
  if ("name" in entry) return `The ${entry.kind} "${entry.name}"`;
  const kinds = { tools: "Tool", resources: "Resource", templates: "Resource template", prompts: "Prompt" };
  return `${kinds[entry.kind]} "${entry.feature.key}"`;
}

function entryKey(entry: Entry): string | undefined {
  return "key" in entry.feature ? entry.feature.key : undefined;
}
