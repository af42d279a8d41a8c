import type { Link } from "portolan/client";
import { http } from "portolan/client/http";
import { stdio } from "portolan/client/stdio";
import type { ServerEntry } from "portolan-host";
import type { CommandContext } from "../command.ts";
import { Failure } from "../failure.ts";
import { fetchOption } from "../http-proxy/choose.ts";
import { quote } from "../terminal/escape.ts";
import { withHost } from "./host.ts";
import { authFor } from "./sign-in.ts";

/** Fails if a configured server is not trusted, disabled or misconfigured. */
export async function requireStartable(context: CommandContext, entry: ServerEntry): Promise<void> {
  if (entry.source.kind === "code") return;
  await withHost(context, [entry], async (host) => {
    const { state, reason = "" } = host.servers.find(({ name }) => name === entry.name) ?? {};
    if (state === "untrusted") {
      throw new Failure("denied", `${entry.name} is not trusted yet, so it was not started`, {
        next: `portolan trust ${quote(entry.name)}`,
      });
    }
    if (state === "misconfigured" || state === "disabled") {
      throw new Failure("usage", `${entry.name} is ${state}${reason && `: ${reason}`}`, { next: "portolan doctor" });
    }
  });
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
