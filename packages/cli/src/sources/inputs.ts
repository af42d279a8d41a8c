import type { ServerTarget } from "portolan-host";
import { listFlag } from "../arguments/flags.ts";
import { askField } from "../ask/field.ts";
import type { CommandContext, Flags } from "../command.ts";
import { Failure, interruption } from "../failure.ts";
import { QuestionDismissed } from "../terminal/input.ts";

/** A value that a server needs and its author does not know. */
export interface Input {
  readonly id: string;
  readonly description?: string | undefined;
  /** It is never written into a file: the entry names a variable of the shell. */
  readonly isSecret: boolean;
  /** The variable that a secret is read from. */
  readonly variable: string;
  readonly options?: readonly string[] | undefined;
  readonly default?: readonly string[] | undefined;
  readonly isRequired: boolean;
  /** It may have several values. */
  readonly isList?: boolean;
  /** Returns the value as it is written, or throws. */
  readonly check?: (value: string) => string;
}

/** The values of inputs by their ids. An optional input without a value has none. */
export type Values = ReadonlyMap<string, readonly string[]>;

/** Returns the values of `--set NAME=VALUE`. One name may have several. */
export function givenValues(flags: Flags): Map<string, string[]> {
  const given = new Map<string, string[]>();
  for (const pair of listFlag(flags, "set")) {
    const [, name, value] = /^([^=]+)=([\s\S]*)$/.exec(pair) ?? [];
    // The message does not quote the pair: it may be a secret.
    if (name === undefined || value === undefined) throw new Failure("usage", "--set: expected NAME=VALUE");
    given.set(name, [...(given.get(name) ?? []), value]);
  }
  return given;
}

/**
 * Returns the values of inputs: those that were given, the answers of the person, or the defaults. A secret is always a
 * reference to a variable of the shell. Fails if a needed value is missing, or if a given one belongs to no input.
 */
export async function valuesOf(
  context: CommandContext,
  server: string,
  inputs: readonly Input[],
  given: ReadonlyMap<string, readonly string[]>,
): Promise<Values> {
  const unknown = [...given.keys()].find((id) => !inputs.some((input) => input.id === id));
  if (unknown !== undefined) {
    const known = inputs.map(({ id }) => id).join(", ") || "none";
    throw new Failure("usage", `--set: ${server} has no input ${JSON.stringify(unknown)}; it has ${known}`);
  }
  const values = new Map<string, readonly string[]>();
  const open: Input[] = [];
  for (const input of inputs) {
    const own = given.get(input.id);
    if (input.isSecret) {
      if (own || input.isRequired || context.system.env[input.variable] !== undefined) {
        values.set(input.id, [referenceFor(input, own)]);
      }
    } else if (own) values.set(input.id, checked(input, own));
    else if (input.isRequired) open.push(input);
    else if (input.default) values.set(input.id, checked(input, input.default));
  }
  if (open.length > 0 && context.screen.isInteractive) {
    for (const [id, value] of await askFor(context, server, open)) values.set(id, value);
    return values;
  }
  const missing = open.filter((input) => !input.default);
  if (missing.length > 0) throw new Failure("usage", missingText(server, missing));
  for (const input of open) values.set(input.id, checked(input, input.default ?? []));
  return values;
}

function missingText(server: string, missing: readonly Input[]): string {
  const each = missing.map(({ id, description, options }) => {
    const about = [description, options && `one of ${options.join(", ")}`].filter((text) => text !== undefined);
    return about.length === 0 ? id : `${id} (${about.join("; ").slice(0, maxDescriptionChars)})`;
  });
  const flags = missing.map(({ id }) => `--set ${id}=VALUE`).join(" ");
  return `${server} needs ${each.length === 1 ? "a value" : "values"}: ${each.join(", ")}; add ${flags}`;
}

const maxDescriptionChars = 300;

/** Returns how the entry names a secret: a variable of the shell, which `--set` may choose. */
function referenceFor({ id, variable }: Input, given: readonly string[] | undefined): string {
  if (!given) return `\${${variable}}`;
  const [reference = ""] = given;
  // The message does not repeat the value, which is a secret.
  if (given.length > 1 || !/^\$\{\w+\}$/.test(reference)) {
    throw new Failure(
      "usage",
      `--set ${id}: it is a secret, which is not written into a file; set the variable ${variable} in your shell instead, or name another one: --set '${id}=\${NAME}'`,
    );
  }
  return reference;
}

function checked({ id, isList = false, options, check }: Input, values: readonly string[]): readonly string[] {
  if (values.length > 1 && !isList) throw new Failure("usage", `--set ${id}: expected one value, got ${values.length}`);
  return values.map((value) => {
    if (options && !options.includes(value)) {
      throw new Failure("usage", `${id}: expected one of ${options.join(", ")}, got ${JSON.stringify(value)}`);
    }
    return check ? check(value) : value;
  });
}

async function askFor(
  context: CommandContext,
  server: string,
  inputs: readonly Input[],
): Promise<readonly (readonly [id: string, values: readonly string[]])[]> {
  const { terminal, screen, signal } = context;
  const work = async () => {
    terminal.heading("", server, " needs values:");
    const answers: [string, readonly string[]][] = [];
    for (const input of inputs) {
      const { id, description, options } = input;
      const proposed = input.default?.length === 1 ? input.default[0] : undefined;
      const schema = {
        type: "string",
        ...(description !== undefined && { description }),
        ...(options && { enum: options }),
        ...(proposed !== undefined && { default: proposed }),
      };
      for (;;) {
        const answer = String(await askField(context, { name: id, schema, isRequired: true }));
        try {
          answers.push([id, checked(input, [answer])]);
          break;
        } catch (reason) {
          if (!(reason instanceof Failure)) throw reason;
          terminal.say(`  ${screen.style("red", screen.safe(reason.message))}`);
        }
      }
    }
    return answers;
  };
  return terminal.ask(signal, work).catch((reason: unknown) => {
    if (reason instanceof QuestionDismissed) throw interruption();
    throw reason;
  });
}

/** Returns a variable for a secret of a server: `WEATHER_API_KEY`. */
export function variableFor(server: string, id: string): string {
  const plain = (text: string) =>
    text
      .toUpperCase()
      .replace(/[^A-Z\d]+/g, "_")
      .replace(/^_+|_+$/g, "");
  return `${plain(server)}_${/^authorization$/i.test(id) ? "TOKEN" : plain(id)}`.replace(/^(?=\d)/, "_");
}

/** Stands for `${` in values of the person while they are put into texts of a stranger. No text of theirs can have it. */
const hidden = "\0{";

/** Returns values whose references to variables `finish` will know as the person's own. */
export function hideReferences(values: Values): Values {
  return new Map([...values].map(([id, list]) => [id, list.map((value) => value.replaceAll("${", hidden))]));
}

/**
 * Returns a filled text with the references of the person. Fails if it has another one: in a configuration file, a reference
 * that a stranger wrote would pass a secret of the person's shell to the server.
 */
export function finish(filled: string, where: string): string {
  const [found] = /\$\{[^}]{0,80}\}?/.exec(filled) ?? [];
  if (found !== undefined) {
    throw new Failure(
      "denied",
      `${where} has ${found}, which would pass on a variable of your shell; nothing was added`,
    );
  }
  return filled.replaceAll(hidden, "${");
}

/** Fails if a text of a stranger has a character that no text has. Call it before anything is filled in. */
export function checkText(text: string, where: string): void {
  if (text.includes("\0")) throw new Failure("protocol", `${where} has a NUL character; nothing was added`);
}

/** Variables that some products replace in their files. The command itself replaces `${NAME}` alone. */
const foreignNotation = /\$[A-Za-z_{]|\{\{|\{(?:env|file|cmd|exec|command|config|input):/i;

/** Fails if a text of a stranger, written into the file of another product, would become a reference to a variable there. */
export function checkForOthers(target: ServerTarget): void {
  const texts =
    "command" in target
      ? [target.command, ...(target.args ?? []), ...Object.values(target.env ?? {})]
      : "url" in target
        ? [target.url, ...Object.values(target.headers ?? {}).map(String)]
        : [];
  const found = texts.find((text) => foreignNotation.test(text.replace(/\$\{\w+\}/g, "")));
  if (found === undefined) return;
  throw new Failure(
    "denied",
    `other products may read a variable in ${JSON.stringify(found.slice(0, 200))}; leave out --to`,
  );
}
