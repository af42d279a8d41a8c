import { maxDurationMs, maxItems, maxStringChars } from "./limits.ts";
import type { Names } from "./shapes.ts";
import { isTable, kindOf, type Path, printPath, type Table } from "./value.ts";

/** A member of an entry and its path. */
interface Member {
  readonly value: unknown;
  readonly path: Path;
}

/** Reads the members of one entry. The first invalid one becomes the problem of the entry; reading continues. */
export class Members {
  readonly notes: string[] = [];
  readonly #file: string;
  readonly #scopes: { readonly table: Table; readonly path: Path }[];
  #problem: string | undefined;

  constructor(table: Table, path: Path, file: string, nestedIn: Names = []) {
    this.#file = file;
    this.#scopes = [{ table, path }];
    for (const name of nestedIn) {
      const inner = table[name];
      if (isTable(inner)) this.#scopes.push({ table: inner, path: [...path, name] });
    }
  }

  get problem(): string | undefined {
    return this.#problem;
  }

  /** Sets the problem, if there is none yet. */
  fail(path: Path, reason: string): void {
    this.#problem ??= `${printPath(path)} in ${this.#file}: ${reason}`;
  }

  note(path: Path, reason: string): void {
    this.notes.push(`${printPath(path)} in ${this.#file}: ${reason}`);
  }

  /** Returns the members of a member that must be an object. */
  nested(member: Member): Members | undefined {
    if (isTable(member.value)) return new Members(member.value, member.path, this.#file);
    return this.#expected(member, "an object");
  }

  /** Takes over the problem of a nested object. */
  takeProblem(inner: Members): void {
    this.#problem ??= inner.#problem;
  }

  /** Returns the first of these members that exists. `null` counts as absent. */
  find(names: Names | undefined): Member | undefined {
    for (const name of names ?? []) {
      for (const { table, path } of this.#scopes) {
        const value = table[name];
        const isScope = this.#scopes.some((scope) => scope.table === value);
        if (value !== undefined && value !== null && !isScope) return { value, path: [...path, name] };
      }
    }
    return undefined;
  }

  text(names: Names | undefined): string | undefined {
    const member = this.find(names);
    return member && this.#textOf(member);
  }

  texts(names: Names | undefined): readonly string[] | undefined {
    const member = this.find(names);
    if (!member) return undefined;
    if (!Array.isArray(member.value)) return this.#expected(member, "a list of strings");
    if (member.value.length > maxItems) return this.#expected(member, `at most ${maxItems} items`);
    return member.value.map((value, index) => this.#scalarOf({ value, path: [...member.path, index] }) ?? "");
  }

  /** Reads an object of strings; numbers and booleans become strings. */
  pairs(names: Names | undefined): readonly (readonly [string, string])[] {
    const member = this.find(names);
    if (!member) return [];
    if (!isTable(member.value)) return this.#expected(member, "an object of strings") ?? [];
    const entries = Object.entries(member.value).filter(([, value]) => value !== null);
    if (entries.length > maxItems) return this.#expected(member, `at most ${maxItems} members`) ?? [];
    return entries.map(
      ([name, value]) => [name, this.#scalarOf({ value, path: [...member.path, name] }) ?? ""] as const,
    );
  }

  flag(names: Names | undefined): boolean | undefined {
    const member = this.find(names);
    if (!member) return undefined;
    return typeof member.value === "boolean" ? member.value : this.#expected(member, "true or false");
  }

  /** Reads a duration and converts it to milliseconds. */
  duration(names: Names | undefined, unitMs: number): number | undefined {
    const member = this.find(names);
    if (!member) return undefined;
    const ms = typeof member.value === "number" ? member.value * unitMs : Number.NaN;
    return ms > 0 && ms <= maxDurationMs ? ms : this.#expected(member, "a positive number of at most one day");
  }

  #scalarOf(member: Member): string | undefined {
    const { value } = member;
    if (typeof value === "number" || typeof value === "boolean") return String(value);
    return this.#textOf(member);
  }

  #textOf(member: Member): string | undefined {
    const { value } = member;
    if (typeof value !== "string") return this.#expected(member, "a string");
    if (value.length > maxStringChars) return this.#expected(member, `at most ${maxStringChars} characters`);
    if (value.includes("\0")) return this.#expected(member, "a string without NUL characters");
    return value;
  }

  #expected({ value, path }: Member, what: string): undefined {
    this.fail(path, `expected ${what}, got ${kindOf(value)}`);
    return undefined;
  }
}
