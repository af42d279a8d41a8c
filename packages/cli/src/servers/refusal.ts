import type { ConfiguredServer, HttpTarget, ServerEntry } from "portolan-host";
import { againWith } from "../arguments/flags.ts";
import { commands } from "../command-table.ts";
import { type ProbeResult, probe } from "../doctor/probe.ts";
import { Failure } from "../failure.ts";
import { fetchOption } from "../http-proxy/choose.ts";
import type { System } from "../system.ts";
import { quote, quoteCommand } from "../terminal/escape.ts";
import { isOwnFile } from "./find-server.ts";

/** How a server refuses requests that it offers no sign-in for: it wants a key in a header. */
export interface Refusal {
  readonly status: number;
  /** The server's own words; undefined if it says nothing. */
  readonly said: string | undefined;
  /** The refusal as a sentence, without the name of the server. */
  readonly what: string;
  /** The sentence that it offers no sign-in, as far as the command can see. */
  readonly lacks: string;
  /** The step that adds the header. */
  readonly next: string;
}

/**
 * Finds out whether a server that requires authorization wants a key instead of a sign-in: there is no metadata
 * of a sign-in. Undefined if a person can sign in, or may be able to.
 */
export async function findRefusal(
  entry: ServerEntry,
  target: HttpTarget,
  system: System,
  known?: ProbeResult,
): Promise<Refusal | undefined> {
  // A client id on the command line means a sign-in.
  if ((entry as Partial<ConfiguredServer>).oauth?.clientId !== undefined) return undefined;
  const { status = 0, challenge, body = "", type = "" } = known ?? (await probe(target, system));
  if ((status !== 401 && status !== 403) || type === "text/html") return undefined;
  // A challenge without metadata says nothing about a sign-in, but 403 with one is about the token.
  if (challenge !== undefined && (status === 403 || /resource_metadata/i.test(challenge))) return undefined;
  if (await offersSignIn(new URL(target.url), system)) return undefined;
  const said = sentenceIn(body);
  const given = Object.keys(target.headers ?? {});
  const refused = given.length === 0 ? "" : ` with the header ${given.join(" and ")}`;
  const named = headerIn(said ?? "") ?? given[0];
  const what = `refused the request${refused} (${status})${said === undefined ? "" : `: ${said}`}`;
  return {
    status,
    said,
    what: named === undefined ? `${what}; it may require a sign-in, or a key in a header` : what,
    lacks: named === undefined ? "names no place to sign in" : "has no sign-in",
    next: `pass its key: ${stepFor(entry, target, named ?? "Authorization", system)}`,
  };
}

/** Replaces "needs you to sign in" by what the server says, if it has no sign-in. */
export async function withRefusal(entry: ServerEntry, reason: unknown, system: System): Promise<unknown> {
  const { target, name } = entry;
  if (!(reason instanceof Failure) || reason.kind !== "auth" || !("url" in target)) return reason;
  const refusal = await findRefusal(entry, target, system).catch(() => undefined);
  if (!refusal) return reason;
  return new Failure("auth", `${name} ${refusal.what}`, { next: refusal.next, cause: reason });
}

/** Returns the command line with the header that is missing, or the one that adds it to the entry of the server. */
function stepFor({ name, source }: ServerEntry, { url }: HttpTarget, header: string, system: System): string {
  const pair = `${header}=…`;
  if (source.kind === "file") {
    const force = isOwnFile(source) ? [] : ["--force"];
    return `${quoteCommand(["portolan", "add", ...force, name])} --header ${quote(pair)}`;
  }
  const command = commands.find((it) => it.name === system.argv[0]);
  const again =
    command?.flags && "--header <pair...>" in command.flags ? againWith(system, "--header", "…") : undefined;
  const line = again ?? quoteCommand(["portolan", "ls", "--header", "…", url]);
  return line.replace(/--header '?…'?/, () => `--header ${quote(pair)}`);
}

/** Documents and addresses of a sign-in, relative to the origin of a server. */
const wellKnown = ["oauth-protected-resource", "oauth-authorization-server", "openid-configuration"];

/** True if a server has the metadata of a sign-in, or answers at the default address of the first revision with one. */
async function offersSignIn({ origin, pathname }: URL, system: System): Promise<boolean> {
  const send = fetchOption(system.env, origin)?.fetch ?? fetch;
  const get = async (path: string) => {
    const response = await send(`${origin}${path}`, {
      headers: { accept: "application/json" },
      redirect: "manual",
      signal: AbortSignal.timeout(3_000),
    });
    await response.body?.cancel();
    return response;
  };
  const own = pathname === "/" ? [] : [`/.well-known/${wellKnown[0]}${pathname}`];
  for (const path of [...own, ...wellKnown.map((name) => `/.well-known/${name}`)]) {
    const { status, headers } = await get(path);
    if (status === 200 && /json/i.test(headers.get("content-type") ?? "")) return true;
  }
  const { status } = await get("/authorize");
  return status <= 400;
}

/** Returns what a body says in one line: the text in its JSON, otherwise its beginning. */
function sentenceIn(body: string): string | undefined {
  const line = (text: string) => text.replace(/\s+/g, " ").trim().slice(0, 120) || undefined;
  try {
    const { error, message, detail, error_description: description } = JSON.parse(body) as { [name: string]: unknown };
    const inner = (error as { message?: unknown } | undefined)?.message;
    const found = [description, inner, message, detail, error].find((text) => typeof text === "string");
    if (typeof found === "string") return line(found);
  } catch {
    // The body is no JSON.
  }
  return line(body);
}

/** Returns the header that a text names. */
function headerIn(text: string): string | undefined {
  return /\b(?:X-[A-Za-z][\w-]*|[A-Za-z]+-(?:Api-?)?Key|Api-?Key)\b/i.exec(text)?.[0];
}
