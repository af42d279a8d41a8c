import type { Flags } from "../command.ts";
import { Failure } from "../failure.ts";
import type { System } from "../system.ts";
import { quoteCommand } from "../terminal/escape.ts";

/** Returns the command line of this process with another flag, so that a person can type it again. */
export function againWith({ argv }: Pick<System, "argv">, flag: string, value?: string): string {
  const end = argv.indexOf("--");
  const [own, command] = end < 0 ? [argv, []] : [argv.slice(0, end), argv.slice(end)];
  const isFlag = (word: string | undefined) => word === flag || word?.startsWith(`${flag}=`) === true;
  const kept = own.filter((word, at) => !isFlag(word) && !(value !== undefined && own[at - 1] === flag));
  const [name = "", ...rest] = kept;
  return `portolan ${quoteCommand([name, flag, ...(value === undefined ? [] : [value]), ...rest, ...command])}`;
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
  throw new Failure("usage", `${flagOf(name)}: expected a number of seconds, got ${JSON.stringify(given)}`);
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
