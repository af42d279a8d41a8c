import type { FetchPolicy } from "../../net/policy.ts";
import type { OAuthOptions } from "./settings.ts";

const loopbackHosts = ["localhost", "127.0.0.1", "[::1]"];

/** What may be fetched and opened for a server: what its user has named is trusted that much more than what it names. */
export function addressPolicy(server: URL, { policy, grant }: OAuthOptions): FetchPolicy {
  const named = [server, ...(grant?.addresses ?? []).filter((address) => URL.canParse(address))];
  const hosts = named.map((address) => new URL(address).hostname);
  const own = hosts.flatMap((host) => (loopbackHosts.includes(host) ? loopbackHosts : [host]));
  const isHere = loopbackHosts.includes(server.hostname);
  const privateHosts = [...(policy?.privateHosts ?? []), ...own];
  return { ...(!isHere && { neighbourOf: server.hostname }), ...policy, privateHosts };
}
