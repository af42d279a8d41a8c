import type { HttpTarget, ServerEntry } from "portolan-host";
import { proxyFor, proxyNamed } from "../http-proxy/choose.ts";
import type { ProxyFailure } from "../http-proxy/failure.ts";
import { findRefusal } from "../servers/refusal.ts";
import type { System } from "../system.ts";
import { quote, quoteCommand } from "../terminal/escape.ts";
import { entryLocation, type FindingDetails } from "./finding.ts";
import { type ProbeResult, probe } from "./probe.ts";

/** Explains why a server at an address does not work. */
export async function explainAddress(
  entry: ServerEntry,
  target: HttpTarget,
  message: string,
  { system, hasToken }: { readonly system: System; readonly hasToken: boolean },
): Promise<FindingDetails[]> {
  const result = await probe(target, system);
  const { failure, status = 0, type = "", challenge, body = "" } = result;
  const { host, hostname } = new URL(target.url);
  if (result.proxy) return [explainProxy(result.proxy)];
  if (failure !== undefined) return [explainFailure(target, failure, system), ...explainBypass(target, system)];
  if (isPage(result)) return [explainPage(target, status, system)];
  const isHostRefused =
    status === 421 || (status === 403 && challenge === undefined && !hasToken && /host|origin|dns|rebind/i.test(body));
  if (isHostRefused) {
    return [
      {
        id: "wrong-host",
        level: "error",
        what: `the server refuses the host name ${host}`,
        why: `it answered ${status}${excerpt(body)}: servers accept only host names that they know, against DNS rebinding`,
        next: `use a host name that it accepts, or allow ${hostname} in its settings`,
      },
    ];
  }
  if (status === 401 || status === 403) {
    const written = Object.keys(target.headers ?? {}).some((header) => header.toLowerCase() === "authorization");
    const refusal = hasToken || written ? undefined : await findRefusal(entry, target, system, result);
    if (!refusal) return [explainToken(entry, target, { status, body, hasToken })];
    return [
      {
        id: "missing-key",
        level: "error",
        what: `it ${refusal.what}`,
        why: `it ${refusal.lacks}`,
        next: refusal.next,
      },
    ];
  }
  if (status === 404 || status === 405) {
    const found = await findPath(target, system);
    return [
      {
        id: "wrong-path",
        level: "error",
        what: `there is no server at the path ${new URL(target.url).pathname}`,
        why: `it answered ${status}${excerpt(body)}`,
        next:
          found === undefined
            ? `correct the address, at ${entryLocation(entry)}`
            : `use ${found}, where a server answers`,
      },
    ];
  }
  const why = status >= 500 ? `${message}; the fault is in the server${orProxy(target, system)}` : message;
  const what =
    status >= 400 ? `it answered ${status}` : `it answers with ${type || "something"}, but not like a server`;
  return [{ id: "odd-answer", level: "error", what, why, next: "look at the log of the server" }];
}

function excerpt(body: string): string {
  const line = body.replace(/\s+/g, " ").trim().slice(0, 120);
  return line === "" ? "" : ` (${line})`;
}

function isPage({ type = "", body = "" }: ProbeResult): boolean {
  return type === "text/html" || /^\s*<(!doctype|html)/i.test(body);
}

const selfSigned = ["DEPTH_ZERO_SELF_SIGNED_CERT", "SELF_SIGNED_CERT_IN_CHAIN", "UNABLE_TO_VERIFY_LEAF_SIGNATURE"];
const unknownIssuer = ["UNABLE_TO_GET_ISSUER_CERT", "UNABLE_TO_GET_ISSUER_CERT_LOCALLY"];

function explainFailure(target: HttpTarget, failure: string, system: System): FindingDetails {
  const { host, hostname, port, protocol } = new URL(target.url);
  const tls = (what: string, why: string, next: string): FindingDetails => ({
    id: "tls",
    level: "error",
    what,
    why,
    next,
  });
  if ([...selfSigned, ...unknownIssuer].includes(failure)) {
    return tls(
      "its certificate is not trusted",
      `${failure}: it is self-signed, or signed by an authority that Node does not know${orProxy(target, system, " puts in its own")}`,
      "give Node the certificate of the authority: export NODE_EXTRA_CA_CERTS=/path/to/ca.pem",
    );
  }
  if (failure === "CERT_HAS_EXPIRED" || failure === "CERT_NOT_YET_VALID") {
    const when = failure === "CERT_HAS_EXPIRED" ? "has expired" : "is not valid yet";
    return tls(`its certificate ${when}`, failure, "renew it, and check the clock of this machine");
  }
  if (failure === "ERR_TLS_CERT_ALTNAME_INVALID") {
    return tls(
      "its certificate is for another name",
      `${failure}: ${hostname} is not in it`,
      "use a name in the certificate",
    );
  }
  if (failure === "EPROTO" || failure.startsWith("ERR_SSL")) {
    return tls("it does not speak TLS", `${failure} at ${host}`, `try http://${host}`);
  }
  if (failure.startsWith("HPE_") || (failure === "ECONNRESET" && protocol === "http:")) {
    return tls("it does not speak HTTP", `${failure} at ${host}`, `try https://${host}`);
  }
  if (failure === "ENOTFOUND" || failure === "EAI_AGAIN") {
    const next = "correct the name, and check that this machine is online";
    return { id: "unreachable", level: "error", what: `the host name ${hostname} is unknown`, why: failure, next };
  }
  const what = failure === "ECONNREFUSED" ? `nothing listens at ${host}` : `${host} cannot be reached`;
  const next = `start the server${port === "" ? "" : `, and check that its port is ${port}`}`;
  return { id: "unreachable", level: "error", what, why: failure, next };
}

function explainPage(target: HttpTarget, status: number, system: System): FindingDetails {
  return {
    id: "web-page",
    level: "error",
    what: "a web page answers, not a server",
    why: `it answered ${status} with HTML: probably a sign-in page or a website${orProxy(target, system)}`,
    next: "open the address in a browser to see what answers; then correct it, or sign in there",
  };
}

interface Refusal {
  readonly status: number;
  readonly body: string;
  readonly hasToken: boolean;
}

function explainToken(
  entry: ServerEntry,
  { url, headers = {} }: HttpTarget,
  { status, body, hasToken }: Refusal,
): FindingDetails {
  const { name } = entry;
  const login = `portolan login ${entry.source.kind === "file" ? quote(name) : quoteCommand([url])}`;
  const [, written] = Object.entries(headers).find(([header]) => header.toLowerCase() === "authorization") ?? [];
  const why = `it answered ${status}${excerpt(body)}`;
  if (written !== undefined) {
    const ended = expiryOf(written);
    const when = ended === undefined ? "is refused" : `has expired, at ${ended.toISOString()}`;
    return {
      id: ended === undefined ? "refused-token" : "expired-token",
      level: "error",
      what: `the token in its Authorization header ${when}`,
      why,
      next: `replace it at ${entryLocation(entry)}, or remove the header and run: ${login}`,
    };
  }
  if (hasToken) {
    const what = "the token of the last login is no longer accepted";
    return { id: "expired-token", level: "error", what, why, next: login, repair: { kind: "sign-in" } };
  }
  const what = "it requires sign-in";
  return { id: "missing-token", level: "error", what, why, next: login, repair: { kind: "sign-in" } };
}

/** Returns the expiry of a token that is over, or undefined if it is valid or does not say. */
function expiryOf(header: string): Date | undefined {
  const [, payload] = /^Bearer [\w-]+\.([\w-]+)\.[\w-]*$/i.exec(header.trim()) ?? [];
  if (payload === undefined) return undefined;
  try {
    const { exp } = JSON.parse(Buffer.from(payload, "base64url").toString()) as { exp?: unknown };
    return typeof exp === "number" && exp * 1_000 < Date.now() ? new Date(exp * 1_000) : undefined;
  } catch {
    // Not a JWT: its expiry is unknown.
    return undefined;
  }
}

const usualPaths = ["/mcp", "/sse", "/api/mcp", "/"];

/** Finds another path on the same host where a server seems to answer. */
export async function findPath({ url, headers }: HttpTarget, system: System): Promise<string | undefined> {
  const given = new URL(url).pathname;
  for (const path of usualPaths) {
    if (path === given) continue;
    const tried = new URL(path, url).href;
    const result = await probe({ url: tried, ...(headers && { headers }) }, system, 2_000);
    const { status = 0, type = "" } = result;
    const isLikely = type === "application/json" || type === "text/event-stream" || status === 401;
    if (isLikely && status !== 404 && status !== 405 && status < 500) return tried;
  }
  return undefined;
}

/** Converts a proxy failure to a finding. */
function explainProxy({ what, why, next }: ProxyFailure): FindingDetails {
  return { id: "proxy", level: "error", what, why, next };
}

/** Warns if NO_PROXY excludes an unreachable server from the proxy. */
function explainBypass({ url }: HttpTarget, { env }: System): FindingDetails[] {
  const address = new URL(url);
  const proxy = proxyNamed(address, env);
  const list = ["no_proxy", "NO_PROXY"].find((name) => env[name]);
  if (!proxy || proxyFor(address, env) || !list) return [];
  return [
    {
      id: "proxy",
      level: "warning",
      what: `${list} excludes it from the proxy in ${proxy.variable}`,
      why: "if only the proxy leads out of this network, it cannot be reached directly",
      next: `remove ${address.hostname} from ${list}, if it should be reached through the proxy`,
    },
  ];
}

/** Returns the proxy that may have answered instead, as the end of a sentence. */
export function orProxy({ url }: HttpTarget, { env }: System, does = ""): string {
  const proxy = proxyFor(new URL(url), env);
  return proxy ? `, or the proxy in ${proxy.variable}${does}` : "";
}
