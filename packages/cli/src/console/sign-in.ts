import { loopback } from "portolan/auth/client";
import type { SignInWatch, ToolOptions } from "portolan-console";
import type { Host, HttpTarget, ServerEntry } from "portolan-host";
import type { CommandContext } from "../command.ts";
import { Failure } from "../failure.ts";
import { findRefusal } from "../servers/refusal.ts";
import { authFor, redirectFor } from "../servers/sign-in.ts";
import { quote } from "../terminal/escape.ts";
import { refreshWarmTokens } from "../warm/warm-entry.ts";

/** Signs in to a server of a console's host. The page of the console opens the address that `watch` gets. */
export async function signIn(
  context: CommandContext,
  host: Host,
  entry: ServerEntry,
  watch: SignInWatch,
  { signal }: ToolOptions,
): Promise<void> {
  const { name } = entry;
  const target = httpTargetOf(entry);
  // A file could send people, and a client secret, to any address.
  if (!host.isTrusted(name)) {
    throw new Failure("denied", `${name} is not trusted yet`, { next: `portolan trust ${quote(name)}` });
  }
  const visit = (address: URL) => watch.visit(address.href);
  const auth = authFor(context, entry, {
    redirect: loopback({ ...redirectFor(entry), open: visit, show: visit }),
    onStep: ({ again, ...step }) => watch.step(step, again),
    async askClient(issuer, { isGuessed }) {
      const refusal = isGuessed ? await findRefusal(entry, target, context.system) : undefined;
      if (refusal) throw new Failure("auth", `${name} ${refusal.lacks}; it ${refusal.what}`, { next: refusal.next });
      throw new Failure("auth", `${issuer} offers no client registration`, {
        next: `register a client there, then run in a terminal, which asks for its id: portolan login ${quote(name)}`,
      });
    },
  });
  await auth.login(target.url, { signal });
  await refreshWarmTokens(context);
  // A start that fails now is shown as the state of the server: the sign-in itself has succeeded.
  host.start(name).catch(() => {});
}

/** Deletes the tokens of a server, and ends its connection. */
export async function signOut(context: CommandContext, host: Host, entry: ServerEntry): Promise<void> {
  const { url } = httpTargetOf(entry);
  try {
    await authFor(context, entry).logout(url);
  } finally {
    await refreshWarmTokens(context);
    await host.stop(entry.name);
  }
}

function httpTargetOf({ name, target, problem }: ServerEntry): HttpTarget {
  if (problem !== undefined) throw new Failure("usage", `${name}: ${problem}`);
  if ("url" in target) return target;
  throw new Failure("usage", `${name} is started by a command, so it has no sign-in`);
}
