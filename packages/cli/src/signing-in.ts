import { randomInt } from "node:crypto";
import { type LoopbackOptions, loopback, type OAuth, type OAuthOptions } from "portolan/auth/client";
import type { ConfiguredOAuth, ConfiguredServer, ServerEntry } from "portolan-host";
import type { Context } from "./command.ts";
import { Failure } from "./failure.ts";
import { quote } from "./quote.ts";
import { findTarget } from "./targets.ts";

/** The authorization at a server, with the client that its entry names; who may be sent to a browser is. */
export function authFor(
  { state }: Context,
  entry: ServerEntry,
  { interactive = false, ...options }: OAuthOptions & { readonly interactive?: boolean } = {},
): OAuth {
  const { clientId, clientSecret, scopes } = oauthOf(entry);
  return state.auth({
    ...(clientId !== undefined && { client: { clientId, ...(clientSecret !== undefined && { clientSecret }) } }),
    ...(scopes && { scopes }),
    ...(interactive && { redirect: loopback(placeOfReturn(entry)) }),
    ...options,
  });
}

/** Where the clients of people who use these products are registered to be sent back to; elsewhere it is as below. */
const places: { readonly [product: string]: LoopbackOptions } = {
  vscode: { host: "127.0.0.1", port: 33_418, path: "/" },
  gemini: { host: "localhost", port: 7_777, path: "/oauth/callback" },
  opencode: { host: "127.0.0.1", port: 19_876, path: "/mcp/oauth/callback" },
};

/**
 * Where a browser comes back to. A client that somebody has registered for another product is registered with that
 * product's place, mostly `http://localhost:<port>/callback`, and a place of our own would be refused.
 */
export function placeOfReturn(entry: ServerEntry): LoopbackOptions {
  const { clientId, callbackPort, redirectUri = "" } = oauthOf(entry);
  const [, host, port, path = "/"] = /^http:\/\/(localhost|127\.0\.0\.1):(\d{1,5})(\/[^?#]*)?$/.exec(redirectUri) ?? [];
  if (host === "localhost" || host === "127.0.0.1") return { host, port: Number(port), path };
  if (clientId === undefined && callbackPort === undefined) return {};
  const product = entry.source.kind === "file" ? places[entry.source.product] : undefined;
  return {
    host: "localhost",
    path: "/callback",
    ...product,
    ...(callbackPort !== undefined && { port: callbackPort }),
  };
}

/** The same place as an address, where nobody listens: it is pasted. */
export function addressOfReturn(entry: ServerEntry): { redirectUri?: string } {
  const { host, path, port = randomInt(49_152, 65_536) } = placeOfReturn(entry);
  return host === undefined ? {} : { redirectUri: `http://${host}:${port}${path}` };
}

function oauthOf(entry: ServerEntry): ConfiguredOAuth {
  return (entry as Partial<ConfiguredServer>).oauth ?? {};
}

/** A server that is reached by its address; nobody signs in at others. */
export async function httpTarget(
  context: Context,
  given: string | undefined,
): Promise<{ readonly entry: ServerEntry; readonly url: string }> {
  const { entry } = await findTarget(context, given);
  const { name, target: way, problem } = entry;
  if (problem !== undefined)
    throw new Failure("usage", `${name}: ${problem}`, { next: `portolan doctor ${quote(name)}` });
  if ("url" in way) return { entry, url: way.url };
  throw new Failure("usage", `${name} is started by a command: it has no login of its own`, {
    next: "give it credentials by env in its entry",
  });
}
