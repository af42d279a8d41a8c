import type { OAuth, OAuthOptions } from "portolan/auth/client";
import type { ConfiguredServer, ServerEntry } from "portolan/host";
import type { Context } from "./command.ts";
import { Failure } from "./failure.ts";
import { findTarget } from "./targets.ts";

/** The authorization at a server, with the client that its entry names. */
export function authFor(
  { state }: Context,
  entry: ServerEntry,
  options: OAuthOptions & { readonly interactive?: boolean } = {},
): OAuth {
  const { clientId, clientSecret, scopes } = (entry as Partial<ConfiguredServer>).oauth ?? {};
  return state.auth({
    ...(clientId !== undefined && { client: { clientId, ...(clientSecret !== undefined && { clientSecret }) } }),
    ...(scopes && { scopes }),
    ...options,
  });
}

/** A server that is reached by its address; nobody signs in at others. */
export async function httpTarget(
  context: Context,
  given: string | undefined,
): Promise<{ readonly entry: ServerEntry; readonly url: string }> {
  const { entry } = await findTarget(context, given);
  const { name, way, problem } = entry;
  if (problem !== undefined) throw new Failure("usage", `${name}: ${problem}`, { next: `portolan doctor ${name}` });
  if ("url" in way) return { entry, url: way.url };
  throw new Failure("usage", `${name} is started by a command: it has no login of its own`, {
    next: "give it credentials by env in its entry",
  });
}
