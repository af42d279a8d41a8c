import { timingSafeEqual } from "node:crypto";
import { parseArgs } from "node:util";
import type { Servable } from "./define/server.ts";
import type { ServeHttpOptions } from "./http/options.ts";
import { serveStdio } from "./stdio.ts";

/** A flag of a server's command line. */
export interface Flag {
  readonly type: "string" | "boolean";
  readonly multiple?: boolean;
  readonly short?: string;
  /** One line for `--help`. */
  readonly says: string;
  /** What stands for the value in `--help`: `<bytes>`. */
  readonly value?: string;
}

/** What a command line says, after its flags were checked. */
export interface CommandLine {
  readonly arguments: readonly string[];
  /** The value of a flag; the last one where it may be given several times. */
  text(flag: string): string | undefined;
  texts(flag: string): readonly string[];
  /** A whole number that is not negative; throws a Usage for anything else. */
  count(flag: string): number | undefined;
  isSet(flag: string): boolean;
}

export interface MainOptions {
  /** The command. */
  readonly name: string;
  readonly version: string;
  /** What it is, in a sentence. */
  readonly about: string;
  /** What follows the flags: `<folder>...`. */
  readonly arguments?: string;
  readonly flags?: { readonly [name: string]: Flag };
  /** Makes the server; a Usage that it throws is shown as a mistake of whoever typed the command. */
  readonly create: (line: CommandLine) => Servable | Promise<Servable>;
}

/** A mistake in a command line: what was expected, what came. */
export class UsageError extends Error {
  override readonly name = "Usage";
}

/** The environment variable with the token that protects what is served over HTTP. */
export const tokenVariable = "PORTOLAN_TOKEN";
const common: { readonly [name: string]: Flag } = {
  http: {
    type: "string",
    value: "<port>",
    says: "serve over HTTP instead of standard input and output; 0: any free port",
  },
  host: {
    type: "string",
    value: "<address>",
    says: `where to listen, 127.0.0.1 unless given; others need ${tokenVariable}`,
  },
  help: { type: "boolean", short: "h", says: "show this" },
  version: { type: "boolean", says: "show the version" },
};

/**
 * Runs a server as a program: over standard input and output, or over HTTP if asked to. With a token in the environment
 * variable PORTOLAN_TOKEN, who comes over HTTP must show it.
 */
export async function runMain(options: MainOptions, args: readonly string[] = process.argv.slice(2)): Promise<void> {
  try {
    const line = read(options, args);
    if (line.isSet("help")) console.log(helpOf(options));
    else if (line.isSet("version")) console.log(`${options.name} ${options.version}`);
    else await serve(await options.create(line), line);
  } catch (reason) {
    const isMistake = reason instanceof UsageError;
    const why = reason instanceof Error ? reason.message : String(reason);
    console.error(`${options.name}: ${why}${isMistake ? `; see ${options.name} --help` : ""}`);
    process.exitCode = isMistake ? 2 : 1;
  }
}

async function serve(server: Servable, line: CommandLine): Promise<void> {
  const port = line.count("http");
  if (port === undefined) {
    serveStdio(server);
    return;
  }
  const { serveHttp } = await import("./http/index.ts");
  const serving = serveHttp(server, verifierOf(process.env[tokenVariable]));
  const { url } = await serving.listen(port, line.text("host"));
  console.log(`Serving ${url}`);
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => serving.close().finally(() => process.exit(0)));
  }
}

/** Lets only those in who show a token; everybody where there is none. */
export function verifierOf(token: string | undefined): Pick<ServeHttpOptions, "verify"> {
  if (token === undefined || token === "") return {};
  const expected = Buffer.from(`Bearer ${token}`);
  return {
    verify(request) {
      const given = Buffer.from(request.header("authorization") ?? "");
      if (given.length === expected.length && timingSafeEqual(given, expected)) return { key: "token" };
      return { status: 401, why: "Authorization: expected the token", headers: { "www-authenticate": "Bearer" } };
    },
  };
}

function read({ flags = {}, arguments: positional }: MainOptions, args: readonly string[]): CommandLine {
  const { values, positionals } = parse({ ...flags, ...common }, args, positional !== undefined);
  const texts = (flag: string) => [values[flag] ?? []].flat().map(String);
  const text = (flag: string) => texts(flag).at(-1);
  return {
    arguments: positionals,
    text,
    texts,
    count(flag) {
      const given = text(flag);
      if (given === undefined) return undefined;
      if (/^\d{1,15}$/.test(given)) return Number(given);
      throw new UsageError(`--${flag}: expected a whole number, got ${JSON.stringify(given)}`);
    },
    isSet: (flag) => values[flag] === true,
  };
}

function parse(flags: { readonly [name: string]: Flag }, args: readonly string[], allowPositionals: boolean) {
  const options = Object.fromEntries(
    Object.entries(flags).map(([name, { type, multiple = false, short }]) => [
      name,
      { type, multiple, ...(short !== undefined && { short }) },
    ]),
  );
  try {
    return parseArgs({ args: [...args], options, allowPositionals });
  } catch (reason) {
    throw new UsageError((reason as Error).message.split(/\.\s/, 1)[0]);
  }
}

function helpOf({ name, about, arguments: positional, flags = {} }: MainOptions): string {
  const rows = Object.entries({ ...flags, ...common }).map(([flag, { short, value, says }]) => {
    const long = `--${flag}${value === undefined ? "" : ` ${value}`}`;
    return [short === undefined ? `    ${long}` : `-${short}, ${long}`, says] as const;
  });
  const width = Math.max(...rows.map(([left]) => left.length));
  const usage = [name, "[flags]", ...(positional === undefined ? [] : [positional])].join(" ");
  return [about, "", `Usage: ${usage}`, "", ...rows.map(([left, says]) => `  ${left.padEnd(width)}  ${says}`)].join(
    "\n",
  );
}
