import { type Environment, proxyFor } from "./choose.ts";

/** Gives the fetch for an address that the environment sends through a proxy; what that takes is loaded when it is used. */
export function viaProxy(env: Environment): (url: URL) => typeof fetch | undefined {
  const send: typeof fetch = async (input, init) => (await import("./fetch.ts")).createProxyFetch(env)(input, init);
  return (url) => (proxyFor(url, env) ? send : undefined);
}

/** The option of what can be given a fetch, for an address that needs one. */
export function fetchOption(env: Environment, url: string): { readonly fetch: typeof fetch } | undefined {
  const send = URL.canParse(url) ? viaProxy(env)(new URL(url)) : undefined;
  return send && { fetch: send };
}
