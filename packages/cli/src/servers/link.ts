import type { Link } from "portolan/client";
import { http } from "portolan/client/http";
import { type ProcessEnd, stdio } from "portolan/client/stdio";
import type { ServerEntry } from "portolan-host";
import type { CommandContext } from "../command.ts";
import { Failure, processEndOf, toFailure } from "../failure.ts";
import { fetchOption } from "../http-proxy/choose.ts";
import type { System } from "../system.ts";
import { quote } from "../terminal/escape.ts";
import { targetArgument } from "./find-server.ts";
import { withRefusal } from "./refusal.ts";
import { authFor } from "./sign-in.ts";

/** Replaces the name of our own child process by what the person typed. */
export function withTypedName(message: string, end: ProcessEnd | undefined, typed: string): string {
  return isOurChild(end) ? message.replace(`The server "${end.command}"`, () => typed) : message;
}

/** True for a process of this command, which serves a file or a recording. */
export function isOurChild(end: ProcessEnd | undefined): end is ProcessEnd {
  return end !== undefined && / serve-(?:file|recording) /.test(end.command);
}

/** Adds the next step to the failure of a server that is used without a host. */
export async function explainLink(reason: unknown, entry: ServerEntry, system: System): Promise<unknown> {
  const { kind, message, next: known } = toFailure(reason);
  if (known !== undefined) {
    const text = withTypedName(message, processEndOf(reason), targetArgument(entry, system));
    return text === message ? reason : new Failure(kind, text, { next: known, cause: reason });
  }
  if (kind === "auth") {
    const place = entry.source.kind === "code" && "url" in entry.target ? entry.target.url : entry.name;
    const failure = new Failure(kind, message, { next: `portolan login ${quote(place)}`, cause: reason });
    return withRefusal(entry, failure, system);
  }
  const typed = targetArgument(entry, system);
  const isServers = kind === "unreachable" || kind === "protocol" || kind === "timeout";
  const text = withTypedName(message, processEndOf(reason), typed);
  return isServers ? new Failure(kind, text, { next: `portolan doctor ${typed}`, cause: reason }) : reason;
}

/** Creates a link to a server without a host. `onStderr` gets the lines of its standard error. */
export async function createLink(
  entry: ServerEntry,
  context: CommandContext,
  onStderr: (line: string) => void = () => {},
): Promise<Link> {
  const { target } = entry;
  const { screen, system } = context;
  if ("command" in target) return stdio({ ...target, onStderr });
  if ("open" in target) throw new Failure("usage", "expected a command or an address");
  const { url, headers, legacySse, auth = authFor(context, entry, { interactive: screen.isInteractive }) } = target;
  return http(url, {
    auth,
    ...(headers && { headers }),
    ...(legacySse !== undefined && { legacySse }),
    ...fetchOption(system.env, url),
  });
}
