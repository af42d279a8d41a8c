import { protocolCodes, RpcError } from "portolan";
import type { ProcessEnd } from "portolan/client/stdio";
import type { ConfiguredServer, Host, ServerEntry, ServerStatus } from "portolan-host";
import { withoutValues } from "../arguments/flags.ts";
import type { CommandContext } from "../command.ts";
import { entryLocation } from "../doctor/finding.ts";
import {
  exitCodes,
  Failure,
  type FailureKind,
  httpStatusOf,
  missingScopesOf,
  processEndOf,
  refusalReasonOf,
  toFailure,
  withoutOptionNames,
} from "../failure.ts";
import { quote, quoteCommand } from "../terminal/escape.ts";
import { targetArgument } from "./find-server.ts";
import { isOurChild, withTypedName } from "./link.ts";
import { withRefusal } from "./refusal.ts";
import { findWithheld } from "./withheld.ts";

// Every sentence about a server that cannot be used, with the next step.

/** Explains why a server may not be started, with the next step. Undefined for a server that may be. */
export function explainBlocked(status: ServerStatus, entry: ServerEntry, cause?: unknown): Failure | undefined {
  const { name, state, reason } = status;
  if (state === "untrusted") return untrusted(status, cause);
  if (state === "misconfigured")
    return new Failure("usage", `${name}: ${reason}`, { next: `portolan doctor ${quote(name)}`, cause });
  if (state === "disabled")
    return new Failure("usage", `${name} is disabled, so it was not started`, {
      next: `enable it at ${entryLocation(entry)}`,
      cause,
    });
  return undefined;
}

/** Returns the failure for a server that the person has not trusted as it is now. */
export function untrusted({ name, isChanged }: ServerStatus, cause?: unknown): Failure {
  const next = `portolan trust ${quote(name)}`;
  const why = isChanged ? "changed since you trusted it" : "is not trusted yet";
  return new Failure("denied", `${name} ${why}, so it was not started`, { next, cause });
}

/** Adds to a timeout what a server wrote instead of an answer. */
export function withStray({ kind, message, next, cause }: Failure, stray: string | undefined): Failure {
  const [, line] = /, got ("[\s\S]*")/.exec(stray ?? "") ?? [];
  if (stray === undefined) return new Failure(kind, message, { next, cause });
  const wrote = line === undefined ? "a line that is not a message" : `${line}, which is not a message`;
  return new Failure(kind, `${message}; it wrote ${wrote}, to its standard output`, { next, cause });
}

/** Returns the words that name one of these servers on a command line. */
function argumentFor({ system }: CommandContext, servers: readonly ServerEntry[], name: string): string {
  const entry = servers.find((server) => server.name === name);
  return entry ? targetArgument(entry, system) : quote(name);
}

/** Returns the words that name one of these servers to `portolan login`. */
function signInArgument(servers: readonly ServerEntry[], name: string): string {
  const entry = servers.find((server) => server.name === name);
  if (entry?.source.kind !== "code" || !("url" in entry.target)) return quote(name);
  const { clientId } = (entry as Partial<ConfiguredServer>).oauth ?? {};
  return quoteCommand([entry.target.url, ...(clientId === undefined ? [] : ["--client-id", clientId])]);
}

/** Returns the command that signs in at one of these servers. */
export function signInCommand(servers: readonly ServerEntry[], name: string): string {
  return `portolan login ${signInArgument(servers, name)}`;
}

/** Returns true if requests to this server carry a token that the person wrote. */
function sendsToken(servers: readonly ServerEntry[], name: string): boolean {
  const target = servers.find((server) => server.name === name)?.target;
  const headers = target && "url" in target ? Object.keys(target.headers ?? {}) : [];
  return headers.some((header) => header.toLowerCase() === "authorization");
}

/** Explains which definitions a model does not get, because they changed since the person accepted them. */
export function explainChanged(
  host: Pick<Host, "changedDefinitions">,
): { readonly server: string; readonly message: string; readonly next: string }[] {
  const byServer = new Map<string, string[]>();
  for (const { server, kind, name } of host.changedDefinitions()) {
    const what = kind === "tool" ? `${server}.${name}` : `the instructions of ${server}`;
    byServer.set(server, [...(byServer.get(server) ?? []), what]);
  }
  return [...byServer].map(([server, all]) => {
    const more = all.length - maxChangedShown;
    const names = [...all.slice(0, maxChangedShown), ...(more > 0 ? [`${more} more`] : [])].join(", ");
    const message =
      all.length === 1
        ? `${names} is left out: its definition changed since you accepted it`
        : `${names} are left out: their definitions changed since you accepted them`;
    return { server, message, next: changesStep(server) };
  });
}

const maxChangedShown = 5;

/** Returns the command that shows the changed definitions of a server and accepts them. */
export function changesStep(name: string): string {
  return `portolan trust ${quote(name)} --changes`;
}

/** Explains why a model does not use a server, with the next step. Undefined for a server that it uses. */
export function explainUnused(
  context: CommandContext,
  servers: readonly ServerEntry[],
  { name, state, reason = state, isChanged }: ServerStatus,
): { readonly message: string; readonly next?: string } | undefined {
  const typed = argumentFor(context, servers, name);
  const why = isChanged ? "changed since you trusted it" : "is not trusted";
  switch (state) {
    case "untrusted":
      return { message: `${name} ${why}, so it is not used`, next: `portolan trust ${quote(name)}` };
    case "login":
      return {
        message: `${name} needs sign-in, so it is not used`,
        next: signInCommand(servers, name),
      };
    case "misconfigured":
    case "down":
      return {
        message: `${name} is not used: ${withoutOptionNames(reason).replace(/^connect: the server/, "it")}`,
        next: `portolan doctor ${typed}`,
      };
    case "starting":
      return { message: `${name} is not used yet: it is still starting` };
    default:
      return undefined;
  }
}

/** Explains why one of several servers failed, as if the host had no other. */
export function explainAt(reason: unknown, host: Host, context: CommandContext, entry: ServerEntry): Failure {
  const alone: ExplainedHost = {
    servers: host.servers.filter(({ name }) => name === entry.name),
    changedDefinitions: () => host.changedDefinitions().filter(({ server }) => server === entry.name),
  };
  return toFailure(explain(reason, alone, context, [entry]));
}

/** The parts of a host that explain a failure. */
type ExplainedHost = Pick<Host, "servers" | "changedDefinitions">;

/** Converts an error to a failure with the next step that fits the state of the server. */
export function explain(
  reason: unknown,
  host: ExplainedHost,
  context: CommandContext,
  servers: readonly ServerEntry[],
): unknown {
  const typed = (name: string) => argumentFor(context, servers, name);
  if (reason instanceof Failure || !(reason instanceof Error)) return reason;
  for (const status of host.servers) {
    const { name, state, code, reason: why } = status;
    if (state === "login" && sendsToken(servers, name)) {
      const what = `${name} refuses the token in the Authorization header`;
      return new Failure("auth", what, { next: `portolan doctor ${typed(name)}`, cause: reason });
    }
    if (state === "login") {
      // Another reason than that nobody has signed in: a refused token, or scopes that it lacks.
      const isFirst = !why || (code === "login-required" && missingScopesOf(reason).length === 0);
      const what = isFirst ? `${name} needs you to sign in` : `${name} requires sign-in: ${withoutOptionNames(why)}`;
      return new Failure("auth", what, {
        next: signInCommand(servers, name),
        cause: reason,
      });
    }
    const entry = servers.find((server) => server.name === name);
    // Among several servers, a disabled one is missed by nobody.
    if (!entry || (state === "disabled" && servers.length > 1)) continue;
    const blocked = explainBlocked(status, entry, reason);
    if (blocked) return blocked;
  }
  const { kind, message } = toFailure(reason);
  const [server] = host.servers;
  if (!server || host.servers.length > 1) return reason;
  const explained = explainConnection(reason, server.name, context, servers);
  if (explained) return explained;
  if (refusalReasonOf(reason) === "definition-changed")
    return new Failure(kind, message, { next: changesStep(server.name), cause: reason });
  if (!(reason instanceof RpcError)) return reason;
  const next = kind === "usage" ? `portolan ls ${typed(server.name)}` : "run it in a terminal, where you can answer";
  if (reason.code === protocolCodes.missingCapability && !context.screen.isInteractive) {
    const asks = questionWords.get(missingCapabilityOf(reason)) ?? "asks you something";
    return new Failure(kind, `${server.name} ${asks}, and there is no terminal to ask you`, { next, cause: reason });
  }
  return kind === "usage" || kind === "denied" ? new Failure(kind, message, { next, cause: reason }) : reason;
}

/** Returns the capability that the answer of a server says is missing; an empty string if it names none. */
function missingCapabilityOf({ data }: RpcError): string {
  const { requiredCapabilities } = (data ?? {}) as { readonly requiredCapabilities?: unknown };
  if (typeof requiredCapabilities !== "object" || requiredCapabilities === null) return "";
  return Object.keys(requiredCapabilities)[0] ?? "";
}

/** Requests of a server that need a person, by their capability. */
const questionWords: ReadonlyMap<string, string> = new Map([
  ["elicitation", "asks you to fill in a form or to open an address"],
  ["sampling", "asks for an answer of your model"],
  ["roots", "asks for your folders"],
]);

/** Explains the failure of a connection to a server, with the next step. Undefined for another failure. */
function explainConnection(
  reason: Error,
  name: string,
  context: CommandContext,
  servers: readonly ServerEntry[],
): Failure | undefined {
  const { kind, message, next: known } = toFailure(reason);
  const typed = argumentFor(context, servers, name);
  if (kind === "auth" && known === undefined) {
    const scopes = missingScopesOf(reason);
    const flags = scopes.length === 0 ? "" : ` --scope ${quote(scopes.join(" "))}`;
    const next = `portolan login ${signInArgument(servers, name)}${flags}`;
    return new Failure(kind, message, { next, cause: reason });
  }
  if (kind === "unreachable" || (kind === "protocol" && !(reason instanceof RpcError))) {
    const next = known ?? `portolan doctor ${typed}`;
    const end = processEndOf(reason);
    const inner = failureOfCommand(end);
    if (inner) return new Failure(inner.kind, inner.message, { next: inner.next ?? next, cause: reason });
    return new Failure(kind, withTypedName(message, end, typed), { next, cause: reason });
  }
  if (kind === "timeout") {
    const text = message.replace(/^connect: the server/, () => name);
    return new Failure(kind, text, { next: known ?? `portolan doctor ${typed}`, cause: reason });
  }
  return undefined;
}

/** Explains why a server did not start, where no host starts it. The message names a configured server first. */
export async function explainStart(context: CommandContext, entry: ServerEntry, reason: Failure): Promise<Failure> {
  const { name, source } = entry;
  const explained = explainConnection(reason, name, context, [entry]) ?? reason;
  const withVariables = await withWithheld(context, entry, explained);
  const { kind, message, next, cause } = toFailure(await withRefusal(entry, withVariables, context.system));
  const isNamed = source.kind === "code" || message.startsWith(`${name} `);
  return new Failure(kind, isNamed ? message : `${name}: ${message}`, { next, cause });
}

/** Adds the address where a server answers, if there is none at the path that the person typed. */
export async function withFoundPath(
  context: CommandContext,
  { source, target }: ServerEntry,
  reason: unknown,
): Promise<Failure | undefined> {
  const status = httpStatusOf(reason);
  if (source.kind !== "code" || !("url" in target) || (status !== 404 && status !== 405)) return undefined;
  const { system, signal } = context;
  if (signal.aborted || !system.argv.includes(target.url)) return undefined;
  const { findPath } = await import("../doctor/address.ts");
  const found = await findPath(target, system);
  if (found === undefined) return undefined;
  const { pathname } = new URL(target.url);
  const typed = withoutValues(system.argv).map((word) => (word === target.url ? found : word));
  return new Failure("unreachable", `there is no server at the path ${pathname}, but one answers at ${found}`, {
    next: quoteCommand(["portolan", ...typed]),
    cause: reason,
  });
}

/** Adds the variables that a server missed before it ended. */
export async function withWithheld(context: CommandContext, entry: ServerEntry, reason: unknown): Promise<unknown> {
  const end = processEndOf(reason);
  if (!end) return reason;
  const withheld = await findWithheld(context, entry, end.said);
  if (!withheld) return reason;
  const { kind, message } = toFailure(reason);
  return new Failure(kind, `${message}\n${withheld.sentence}`, { next: withheld.next, cause: reason });
}

/** Returns the failure that a child process reported which is this command: it serves a recording, or another server. */
function failureOfCommand(end: ProcessEnd | undefined): Failure | undefined {
  const isRecording = isOurChild(end) && end.command.includes(" serve-recording ");
  if (end === undefined || (!isRecording && !/\bportolan\b.* serve /.test(end.command))) return undefined;
  try {
    const [line = ""] = end.said.match(/\{"error":.*\}/) ?? [];
    const { error } = JSON.parse(line) as { error: { kind: string; message: string; next?: string } };
    if (typeof error.message !== "string") return undefined;
    const kind = isRecording ? "usage" : Object.hasOwn(exitCodes, error.kind) ? (error.kind as FailureKind) : "failed";
    return new Failure(kind, error.message, { next: error.next });
  } catch {
    return undefined;
  }
}
