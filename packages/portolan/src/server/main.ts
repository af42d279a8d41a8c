import { timingSafeEqual } from "node:crypto";
import { parseArgs } from "node:util";
import { nameIn, type ServedExchange } from "./call/exchange.ts";
import { runtimeOf, type Servable } from "./define/server.ts";
import { isLoopback } from "./http/hosts.ts";
import type { ServeHttpOptions } from "./http/options.ts";
import { toLines, visible } from "./print-error.ts";
import { serveStdio } from "./stdio.ts";

/** A flag of a server's command line. */
export interface Flag {
  readonly type: "string" | "boolean";
  readonly multiple?: boolean;
  readonly short?: string;
  /** One line for `--help`. */
  readonly says: string;
  /** The placeholder of the value in `--help`: `<bytes>`. */
  readonly value?: string;
}

/** An environment variable that a server's program reads. */
export interface EnvironmentVariable {
  /** One line for `--help`. */
  readonly says: string;
  /** Its value is a password, a token or the like. */
  readonly isSecret?: boolean;
}

/** A parsed command line. */
export interface CommandLine {
  readonly arguments: readonly string[];
  /** Returns the value of a flag, the last one if it was given several times. */
  text(flag: string): string | undefined;
  texts(flag: string): readonly string[];
  /** Returns the value as a whole number ≥ 0. Throws a `UsageError` for anything else. */
  count(flag: string): number | undefined;
  isSet(flag: string): boolean;
}

/** Options of `runMain`. */
export interface MainOptions {
  /** The name of the command. */
  readonly name: string;
  /** The version of the program, which `--version` prints. */
  readonly version: string;
  /** One sentence for `--help`. */
  readonly about: string;
  /** The placeholder of the arguments in `--help`: `<folder>...`. Default: the command takes no arguments. */
  readonly arguments?: string;
  /** The flags of the program by name. Default: none. */
  readonly flags?: { readonly [name: string]: Flag };
  /** The environment variables that `create` reads, for `--help`. */
  readonly environment?: { readonly [name: string]: EnvironmentVariable };
  /** Makes the server. A `UsageError` that it throws is shown with a hint at `--help`. */
  readonly create: (line: CommandLine) => Servable | Promise<Servable>;
}

/** A mistake in a command line. Its message says what was expected and what came. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** The environment variable with the token that HTTP clients must send. */
export const tokenVariable = "PORTOLAN_TOKEN";
const commonEnvironment: { readonly [name: string]: EnvironmentVariable } = {
  [tokenVariable]: { says: "with --http: the token that callers must send", isSecret: true },
};
const common: { readonly [name: string]: Flag } = {
  http: {
    type: "string",
    value: "<port>",
    says: "serve over HTTP instead of standard input and output; 0 takes a free port",
  },
  host: {
    type: "string",
    value: "<address>",
    says: `listen on this address; one that is not local needs ${tokenVariable}. Default: 127.0.0.1`,
  },
  sse: { type: "boolean", says: "also serve HTTP+SSE at /sse, for clients of the oldest revision" },
  "allow-origin": {
    type: "string",
    multiple: true,
    value: "<origin>",
    says: "allow web pages of this origin, such as https://app.example.com. Repeatable. Default: none",
  },
  "allow-host": {
    type: "string",
    multiple: true,
    value: "<host>",
    says: "accept this Host header, such as mcp.example.com behind a proxy. Repeatable. Default: local names",
  },
  help: { type: "boolean", short: "h", says: "show this help" },
  version: { type: "boolean", says: "show the version" },
};

/**
 * Runs a server as a program: over standard input and output, or over HTTP with `--http`. If the environment variable
 * PORTOLAN_TOKEN is set, HTTP clients must send its value as a bearer token.
 */
export async function runMain(options: MainOptions, args: readonly string[] = process.argv.slice(2)): Promise<void> {
  try {
    const line = read(options, args);
    if (line.isSet("help")) console.log(helpOf(options));
    else if (line.isSet("version")) console.log(`${options.name} ${options.version}`);
    else await serve(options.name, await options.create(line), line);
  } catch (reason) {
    const isMistake = reason instanceof UsageError;
    const why = reason instanceof Error ? reason.message : String(reason);
    console.error(`${options.name}: ${why}${isMistake ? `; see ${options.name} --help` : ""}`);
    process.exitCode = isMistake ? 2 : 1;
  }
}

async function serve(name: string, server: Servable, line: CommandLine): Promise<void> {
  const port = line.count("http");
  const http = httpOptions(line, port);
  logUnhandledRejections(name, server);
  if (port === undefined) {
    serveStdio(server);
    return;
  }
  const { serveHttp } = await import("./http/index.ts");
  const allowedHosts = [...line.texts("allow-host")];
  const hosts = allowedHosts.length > 0 && { allowedHosts };
  const serving = serveHttp(server, { ...verifierOf(process.env[tokenVariable]), ...http, ...hosts });
  const listening = await serving.listen(port, line.text("host"), { signals: true });
  const { url } = listening;
  // Local names stay allowed. The list is first read with the first request, which comes later than this.
  allowedHosts.push(...localHosts(new URL(url).hostname).map((name) => `${name}:${listening.port}`));
  console.log(`Serving ${url}`);
}

/** Returns the names by which programs of this machine reach it, with the address that it listens on if that is one. */
function localHosts(address: string): string[] {
  return [...new Set(["localhost", "127.0.0.1", "[::1]", ...(isLoopback(address) ? [address] : [])])];
}

/**
 * Logs promises that are rejected without a handler, with the calls in progress, one of which probably caused it. The
 * program goes on serving, also if standard error cannot be written: the disk is full, or its reader is gone. `name`
 * begins the message.
 */
export function logUnhandledRejections(name: string, server: Servable): void {
  process.stderr.on("error", () => {});
  process.on("unhandledRejection", (reason) => {
    const calls = [...runtimeOf(server).inFlight].flatMap((requests) => [...requests()]).map(describe);
    const shown = visible(calls.slice(0, maxNamedCalls).join(", ")) + (calls.length > maxNamedCalls ? ", …" : "");
    const what = "a promise was rejected and not handled; calls in progress";
    console.error(`${name}: ${what}: ${shown || "none"}\n  ${toLines(reason)}`);
  });
}

/** Calls that are named in the log of an unhandled rejection. */
const maxNamedCalls = 10;

/** Returns the method of a request and the name or URI that it names: `tools/call "greet"`. */
function describe({ method, params }: ServedExchange): string {
  const name = nameIn(params);
  const shown = method.slice(0, 80);
  return name === undefined ? shown : `${shown} ${JSON.stringify(name.slice(0, 80))}`;
}

/** Returns the options of the flags for HTTP. Throws a `UsageError` if one of them has no use or no valid value. */
function httpOptions(line: CommandLine, port: number | undefined): ServeHttpOptions {
  const [origins, hosts] = [line.texts("allow-origin"), line.texts("allow-host")];
  for (const flag of ["host", "sse", "allow-origin", "allow-host"]) {
    if (port === undefined && (line.isSet(flag) || line.texts(flag).length > 0)) {
      throw new UsageError(`--${flag} needs --http <port>`);
    }
  }
  const host = line.text("host");
  if (host !== undefined && !isLoopback(host) && !process.env[tokenVariable]) {
    const way = `set ${tokenVariable} to a token that callers must send, or omit --host`;
    throw new UsageError(`--host ${host}: others could use this server without a token; ${way}`);
  }
  const expectAll = (flag: string, given: readonly string[], form: RegExp, example: string) => {
    const wrong = given.find(
      (text) => !form.test(text) || !URL.canParse(text.includes("://") ? text : `http://${text}`),
    );
    if (wrong !== undefined) throw new UsageError(`--${flag}: expected ${example}, got ${JSON.stringify(wrong)}`);
  };
  expectAll(
    "allow-origin",
    origins,
    /^[a-z][a-z0-9+.-]*:\/\/[^\s/@?#]+$/i,
    "an origin such as https://app.example.com",
  );
  expectAll("allow-host", hosts, /^(\[[0-9a-f:.]+\]|[^\s/:@?#[\]]+)(:\d{1,5})?$/i, "a host such as mcp.example.com");
  return {
    ...(line.isSet("sse") && { httpSse: true }),
    ...(origins.length > 0 && { allowedOrigins: origins }),
  };
}

/** Returns a verifier that admits the holders of a token; no verifier if there is no token. */
export function verifierOf(token: string | undefined): Pick<ServeHttpOptions, "verify"> {
  if (token === undefined || token === "") return {};
  const expected = Buffer.from(`Bearer ${token}`);
  return {
    verify(request) {
      const given = Buffer.from(request.header("authorization") ?? "");
      if (given.length === expected.length && timingSafeEqual(given, expected)) return { key: "token" };
      return {
        status: 401,
        why: "Authorization: expected the bearer token of this server",
        headers: { "www-authenticate": "Bearer" },
      };
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

function helpOf({ name, about, arguments: positional, flags = {}, environment = {} }: MainOptions): string {
  const flagRows = Object.entries({ ...flags, ...common }).map(([flag, { short, value, says }]) => {
    const long = `--${flag}${value === undefined ? "" : ` ${value}`}`;
    return [short === undefined ? `    ${long}` : `-${short}, ${long}`, says] as const;
  });
  const variableRows = Object.entries({ ...environment, ...commonEnvironment }).map(
    ([variable, { says }]) => [variable, says] as const,
  );
  const usage = [name, "[flags]", ...(positional === undefined ? [] : [positional])].join(" ");
  return [about, "", `Usage: ${usage}`, "", ...table(flagRows), "", "Environment:", ...table(variableRows)].join("\n");
}

function table(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}
