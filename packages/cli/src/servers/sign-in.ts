import { randomInt } from "node:crypto";
import { type LoopbackOptions, loopback, type OAuth, type OAuthOptions } from "portolan/auth/client";
import type { ConfiguredOAuth, ConfiguredServer, ServerEntry } from "portolan-host";
import type { CommandContext } from "../command.ts";
import { Failure } from "../failure.ts";
import { quote } from "../terminal/escape.ts";
import { findServer } from "./find-server.ts";

/** Returns the OAuth client for a server, with the client id of its entry. With `interactive` it may open a browser. */
export function authFor(
  { state, system, terminal }: CommandContext,
  entry: ServerEntry,
  { interactive = false, scopes: more = [], ...options }: OAuthOptions & { readonly interactive?: boolean } = {},
): OAuth {
  const { clientId, clientSecret, scopes = [] } = oauthOf(entry);
  const { connectMs } = entry.settings;
  // Where no browser can be opened.
  const show = (address: URL) => {
    terminal.waits.clear();
    system.stderr.write(`Open this address to sign in:\n${address.href}\n`);
  };
  return state.auth({
    ...(clientId !== undefined && { client: { clientId, ...(clientSecret !== undefined && { clientSecret }) } }),
    scopes: [...scopes, ...more],
    ...(interactive && { redirect: loopback({ ...redirectFor(entry), show }) }),
    ...(connectMs !== undefined && { loginWaitMs: connectMs }),
    ...options,
  });
}

/** The redirect addresses that these products register for their clients. */
const registeredRedirects: { readonly [product: string]: LoopbackOptions } = {
  vscode: { host: "127.0.0.1", port: 33_418, path: "/" },
  gemini: { host: "localhost", port: 7_777, path: "/oauth/callback" },
  opencode: { host: "127.0.0.1", port: 19_876, path: "/mcp/oauth/callback" },
};

/**
 * Returns where the browser comes back to. A client id that was registered for another product only accepts the
 * redirect address of that product, mostly `http://localhost:<port>/callback`. With `isByHand` the client was registered
 * by hand, so that its path must not be random.
 */
export function redirectFor(entry: ServerEntry, isByHand = false): LoopbackOptions {
  const { clientId, callbackPort, redirectUri = "" } = oauthOf(entry);
  const [, host, port, path = "/"] = /^http:\/\/(localhost|127\.0\.0\.1):(\d{1,5})(\/[^?#]*)?$/.exec(redirectUri) ?? [];
  if (host === "localhost" || host === "127.0.0.1") return { host, port: Number(port), path };
  if (clientId === undefined && callbackPort === undefined && !isByHand) return {};
  const product = entry.source.kind === "file" ? registeredRedirects[entry.source.product] : undefined;
  return {
    host: "localhost",
    path: "/callback",
    ...product,
    ...(callbackPort !== undefined && { port: callbackPort }),
  };
}

/** Returns the redirect address for pasting. No port listens at it. */
export function redirectUriFor(entry: ServerEntry, isByHand = false): { redirectUri?: string } {
  const { host, path, port = randomInt(49_152, 65_536) } = redirectFor(entry, isByHand);
  return host === undefined ? {} : { redirectUri: `http://${host}:${port}${path}` };
}

/** Returns true if the entry of a server has a client of its own. */
export function hasClient(entry: ServerEntry): boolean {
  return oauthOf(entry).clientId !== undefined;
}

function oauthOf(entry: ServerEntry): ConfiguredOAuth {
  return (entry as Partial<ConfiguredServer>).oauth ?? {};
}

/** A server with an address. */
export interface FoundHttpServer {
  readonly entry: ServerEntry;
  readonly url: string;
  /** The address for people: its placeholders are not replaced, because their values may be secrets. */
  readonly shown: string;
}

/** Finds a server with an address. Servers that are started by a command have no sign-in. */
export async function findHttpServer(context: CommandContext, given: string | undefined): Promise<FoundHttpServer> {
  const entry = await findServer(context, given);
  const { name, target, problem, configured } = entry;
  if (problem !== undefined)
    throw new Failure("usage", `${name}: ${problem}`, { next: `portolan doctor ${quote(name)}` });
  if ("url" in target) return { entry, url: target.url, shown: "url" in configured ? configured.url : target.url };
  throw new Failure("usage", `${name} is started by a command, so it has no sign-in`, {
    next: "give it its credentials as variables, with --env: portolan add --help",
  });
}
