import type { HttpTarget } from "portolan-host";
import { proxyFor, proxyNamed } from "../http-proxy/choose.ts";
import type { ProxyFailure } from "../http-proxy/failure.ts";
import type { World } from "../system.ts";
import type { Told } from "./finding.ts";

/** What is wrong with the proxy that leads to a server. */
export function explainProxy({ what, why, next }: ProxyFailure): Told {
  return { id: "proxy", level: "error", what, why, next };
}

/** A server that was not reached straight may be reached by the proxy that it is spared from. */
export function explainSpared({ url }: HttpTarget, { env }: World): Told[] {
  const address = new URL(url);
  const proxy = proxyNamed(address, env);
  const list = ["no_proxy", "NO_PROXY"].find((name) => env[name]);
  if (!proxy || proxyFor(address, env) || !list) return [];
  return [
    {
      id: "proxy",
      level: "warning",
      what: `${list} spares it from the proxy in ${proxy.variable}`,
      why: "where only a proxy leads out, nothing is reached without it",
      next: `take ${address.hostname} out of ${list}, if the proxy is to lead there`,
    },
  ];
}

/** The proxy that could have answered in place of a server, for the end of a sentence; nothing where there is none. */
export function orProxy({ url }: HttpTarget, { env }: World, does = ""): string {
  const proxy = proxyFor(new URL(url), env);
  return proxy ? `, or the proxy in ${proxy.variable}${does}` : "";
}
