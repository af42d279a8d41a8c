import type { Link } from "portolan/client";
import { http } from "portolan/client/http";
import { stdio } from "portolan/client/stdio";
import type { ServerEntry } from "portolan-host";
import type { CommandContext } from "../command.ts";
import { Failure, toFailure } from "../failure.ts";
import { fetchOption } from "../http-proxy/choose.ts";
import type { System } from "../system.ts";
import { quote } from "../terminal/escape.ts";
import { targetArgument } from "./find-server.ts";
import { withRefusal } from "./refusal.ts";
import { authFor } from "./sign-in.ts";

/** Adds the next step to the failure of a server that is used without a host. */
export async function explainLink(reason: unknown, entry: ServerEntry, system: System): Promise<unknown> {
  const { kind, message, next: known } = toFailure(reason);
  if (known !== undefined) return reason;
  if (kind === "auth") {
    const place = entry.source.kind === "code" && "url" in entry.target ? entry.target.url : entry.name;
    const failure = new Failure(kind, message, { next: `portolan login ${quote(place)}`, cause: reason });
    return withRefusal(entry, failure, system);
  }
  const next = `portolan doctor ${targetArgument(entry, system)}`;
  const isServers = kind === "unreachable" || kind === "protocol" || kind === "timeout";
  return isServers ? new Failure(kind, message, { next, cause: reason }) : reason;
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
