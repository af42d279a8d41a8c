import type { Flags } from "../command.ts";
import { Failure } from "../failure.ts";
import type { System } from "../system.ts";
import { quoteCommand } from "../terminal/escape.ts";

/** Returns the command line of this process with another flag, so that a person can type it again. */
export function againWith({ argv }: Pick<System, "argv">, flag: string, value?: string): string {
  const [own, command] = splitAtDashes(withoutValues(argv));
  const isFlag = (word: string | undefined) => word === flag || word?.startsWith(`${flag}=`) === true;
  const kept = own.filter((word, at) => !isFlag(word) && !(value !== undefined && own[at - 1] === flag));
  const [name = "", ...rest] = kept;
  return `portolan ${quoteCommand([name, flag, ...(value === undefined ? [] : [value]), ...rest, ...command])}`;
}

function splitAtDashes(argv: readonly string[]): [own: readonly string[], command: readonly string[]] {
  const end = argv.indexOf("--");
  return end < 0 ? [argv, []] : [argv.slice(0, end), argv.slice(end)];
}

/** A value that names a variable, and contains nothing else that could be a secret. */
const reference = /^(?:(?:bearer|basic|token) )?\$\{[\w:-]+\}$/i;

/** A pair of `--env` or `--header` on a command line. */
interface TypedPair {
  readonly flag: "--env" | "--header";
  readonly name: string;
  /** Undefined for a name alone. */
  readonly value: string | undefined;
}

/** Returns the words of a command line, each pair of `--env` and `--header` as one. */
function partsOf(own: readonly string[]): (string | TypedPair)[] {
  const parts: (string | TypedPair)[] = [];
  for (let at = 0; at < own.length; at += 1) {
    const [, flag, joined] = /^(--env|--header)(?:=([\s\S]*))?$/.exec(own[at] ?? "") ?? [];
    if (flag !== "--env" && flag !== "--header") parts.push(own[at] ?? "");
    else {
      if (joined === undefined) at += 1;
      const [, name = "", value] = /^([^=]*)(?:=([\s\S]*))?$/.exec(joined ?? own[at] ?? "") ?? [];
      parts.push({ flag, name, value });
    }
  }
  return parts;
}

/**
 * Returns a command line for a next step. It has no value of `--env` or `--header`: any of them may be a secret. A
 * variable is passed by its name; a header is left out. `withNeeds` says in words what the person has to add.
 */
export function withoutValues(argv: readonly string[]): string[] {
  const [own, command] = splitAtDashes(argv);
  const kept = partsOf(own).flatMap((part) => {
    if (typeof part === "string") return [part];
    const { flag, name, value } = part;
    if (value !== undefined && reference.test(value)) return [flag, `${name}=${value}`];
    return flag === "--env" ? [flag, name] : [];
  });
  return [...kept, ...command];
}

/** Adds to a next step what it needs besides its command: variables that the shell does not have, and headers. */
export function withNeeds(next: string, { argv, env }: Pick<System, "argv" | "env">): string {
  const [, command = ""] = /(?:^|: |[\w]=\S+ )portolan (.*)$/.exec(next) ?? [];
  const [own, program] = splitAtDashes(argv);
  const parts = partsOf(own);
  const words = ` ${splitAtDashes(command.split(" "))[0].join(" ")} `;
  const isSame =
    program.length > 0 || parts.slice(1).some((word) => typeof word === "string" && words.includes(` ${word} `));
  if (command === "" || !isSame || /^(?:login|trust|servers)\b/.test(command)) return next;
  const needs = parts.flatMap((part) => {
    if (typeof part === "string" || part.value === undefined || reference.test(part.value)) return [];
    const { flag, name, value } = part;
    // A step may name the header itself, for another value.
    if (flag === "--header") return words.includes(`${name}=`) ? [] : [`the same --header ${name}`];
    return words.includes(` --env ${name} `) && env[name] !== value ? [`${name} set in your shell`] : [];
  });
  return needs.length === 0 ? next : `with ${[...new Set(needs)].join(" and ")}: ${next}`;
}

/** Returns the text of a flag, or undefined if it is absent. */
export function textFlag(flags: Flags, name: string): string | undefined {
  const value = flags[name];
  return typeof value === "string" ? value : undefined;
}

/** Returns all values of a repeatable flag. */
export function listFlag(flags: Flags, name: string): readonly string[] {
  const value = flags[name];
  return typeof value === "object" ? value : [];
}

/** Returns a flag that is a whole number above zero. */
export function countFlag(flags: Flags, name: string): number | undefined {
  const given = textFlag(flags, name);
  if (given === undefined) return undefined;
  if (/^[1-9]\d{0,8}$/.test(given)) return Number(given);
  throw new Failure("usage", `${flagOf(name)}: expected a whole number above zero, got ${JSON.stringify(given)}`);
}

/** Returns a flag given in seconds, in milliseconds. */
export function secondsFlag(flags: Flags, name: string): number | undefined {
  const given = textFlag(flags, name);
  if (given === undefined) return undefined;
  const seconds = Number(given);
  if (seconds > 0 && Number.isFinite(seconds)) return seconds * 1_000;
  throw new Failure("usage", `${flagOf(name)}: expected a number of seconds above zero, got ${JSON.stringify(given)}`);
}

/** Returns a flag as it is typed: `--max-turns` for `maxTurns`. */
export function flagOf(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** Returns NAME=VALUE flags as an object. */
export function pairsFlag(flags: Flags, name: string): { readonly [name: string]: string } {
  return Object.fromEntries(
    listFlag(flags, name).map((pair) => {
      const [, key, value] = /^([^=]+)=([\s\S]*)$/.exec(pair) ?? [];
      // The message does not quote the pair: it may be a secret.
      if (key === undefined || value === undefined) throw new Failure("usage", `--${name}: expected NAME=VALUE`);
      return [key, value];
    }),
  );
}
