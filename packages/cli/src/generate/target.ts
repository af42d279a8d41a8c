import { existsSync } from "node:fs";
import { isAbsolute, resolve } from "node:path";
import { redact, type ServerEntry } from "portolan-host";
import { listFlag } from "../arguments/flags.ts";
import type { Flags } from "../command.ts";
import { Failure } from "../failure.ts";
import { shortFlagsWithValue } from "../servers/command-name.ts";
import type { System } from "../system.ts";

/** The expression for the environment in generated code. Only the generated program reads it. */
const environment = ["process", "env"].join(".");

/** How generated code reaches a server. */
export interface TargetCode {
  /** An expression for `connect`: an object with a command, or with an address and headers. */
  readonly expression: string;
  readonly isCommand: boolean;
  /** Environment variables that the expression reads. */
  readonly variables: readonly string[];
  /** Flags whose values are written as they are, although nothing tells what they mean: `-p`. */
  readonly unclear: readonly string[];
}

/** Returns an entry whose pairs of `--env` and `--header` are references to variables: any value may be a secret. */
export function withReferences(entry: ServerEntry, flags: Flags): ServerEntry {
  const { name: server, configured } = entry;
  const namesOf = (flag: string) => listFlag(flags, flag).map((pair) => pair.replace(/=[\s\S]*$/, ""));
  const env = Object.fromEntries(namesOf("env").map((name) => [name, `\${${name}}`]));
  const headers = Object.fromEntries(namesOf("header").map((name) => [name, `\${${toVariable(`${server} ${name}`)}}`]));
  const target =
    "command" in configured
      ? { ...configured, env: { ...configured.env, ...env } }
      : "url" in configured
        ? { ...configured, headers: { ...configured.headers, ...headers } }
        : configured;
  return { ...entry, configured: target };
}

/** Writes the target of a server as code. Secrets and placeholders become environment variables. */
export function targetCode(entry: ServerEntry, system: System): TargetCode {
  const { target, configured, settings } = entry;
  const variables: string[] = [];
  const texts = new Texts(entry.name, variables);
  if ("url" in target) {
    const written = "url" in configured ? configured : target;
    const url = texts.code("url", written.url, target.url);
    const headers = texts.members((written.headers ?? {}) as Pairs, (target.headers ?? {}) as Pairs, "header");
    return {
      expression: `{ url: ${url}${headers && `, headers: ${headers}`} }`,
      isCommand: false,
      variables,
      unclear: [],
    };
  }
  if (!("command" in target)) throw new Failure("usage", `${entry.name} has no command and no address`);
  const written = "command" in configured ? configured : target;
  const [program, kind, file] = target.args ?? [];
  if (program === system.self && (kind === "serve-file" || kind === "serve-recording")) {
    // The server file is run by the command, wherever that is installed.
    // The generated command passes no variable on by itself.
    const flags = [
      ...Object.keys(written.env ?? {}).flatMap((name) => ["--env", name]),
      ...(target.cwd !== undefined && target.cwd !== system.cwd ? ["--cwd", target.cwd] : []),
      ...(settings.era !== undefined ? ["--era", settings.era] : []),
    ];
    const args = JSON.stringify(["portolan", "serve", file, "--stdio", ...flags]);
    const env = texts.members(written.env ?? {}, target.env ?? {}, "variable");
    const expression = `{ command: "npx", args: ${args}${env && `, env: ${env}`} }`;
    return { expression, isCommand: true, variables, unclear: [] };
  }
  const { args = [], env = {}, cwd } = target;
  const words = args.map((arg, at) => texts.code(`argument ${at + 1}`, written.args?.[at] ?? arg, arg, args[at - 1]));
  const folder = cwd ?? system.cwd;
  const isRelative = [target.command, ...args].some((word) => !isAbsolute(word) && existsSync(resolve(folder, word)));
  const unclear = shortFlagsWithValue(target.command, args)
    .filter(({ at }) => words[at + 1] === JSON.stringify(args[at + 1]))
    .map(({ flag }) => flag);
  const members = [
    `command: ${texts.code("command", written.command, target.command)}`,
    ...(words.length > 0 ? [`args: [${words.join(", ")}]`] : []),
    ...(isRelative || written.cwd !== undefined ? [`cwd: ${JSON.stringify(folder)}`] : []),
  ];
  const variablesOfServer = texts.members(written.env ?? {}, env, "variable");
  if (variablesOfServer) members.push(`env: ${variablesOfServer}`);
  return { expression: `{ ${members.join(", ")} }`, isCommand: true, variables, unclear };
}

type Pairs = { readonly [name: string]: string };

/** Writes texts of a configuration as code. */
class Texts {
  readonly #server: string;
  readonly #variables: string[];

  constructor(server: string, variables: string[]) {
    this.#server = server;
    this.#variables = variables;
  }

  members(written: Pairs, expanded: Pairs, kind: "header" | "variable"): string {
    const members = Object.entries(written).map(([name, text]) => {
      const own = kind === "variable" ? name : undefined;
      return `${JSON.stringify(name)}: ${this.code(name, text, expanded[name] ?? text, undefined, own)}`;
    });
    return members.length === 0 ? "" : `{ ${members.join(", ")} }`;
  }

  /** Writes one text. `before` is the word before it on a command line, which may tell that it is a secret. */
  code(name: string, written: string, expanded: string, before?: string, variable?: string): string {
    const isSecret = this.#isSecret(name, written, before);
    if (written === expanded && !isSecret) return JSON.stringify(written);
    const parts = written.split(/(\$\{(?:env:)?[A-Za-z_]\w*\})/);
    if (parts.length === 1 || isSecret) {
      const [, scheme = ""] = /^((?:Bearer|Basic|Token) )/.exec(written) ?? [];
      const read = this.#read(variable ?? toVariable(`${this.#server} ${name}`));
      return scheme ? `${JSON.stringify(scheme)} + ${read}` : read;
    }
    return parts
      .filter(Boolean)
      .map((part) => {
        const [, found] = /^\$\{(?:env:)?(\w+)\}$/.exec(part) ?? [];
        return found === undefined ? JSON.stringify(part) : this.#read(found);
      })
      .join(" + ");
  }

  #isSecret(name: string, text: string, before: string | undefined): boolean {
    // A reference is no secret, whatever its name is.
    if (text.includes("${")) return false;
    const [, second] = before === undefined ? [] : (redact([before, text]) as readonly string[]);
    const { [name]: shown } = redact({ [name]: text }) as Pairs;
    return shown !== text || (second !== undefined && second !== text);
  }

  #read(variable: string): string {
    if (!this.#variables.includes(variable)) this.#variables.push(variable);
    return `(${environment}[${JSON.stringify(variable)}] ?? "")`;
  }
}

function toVariable(text: string): string {
  return text
    .toUpperCase()
    .replace(/[^A-Z\d]+/g, "_")
    .replace(/^(?=\d)/, "_");
}
