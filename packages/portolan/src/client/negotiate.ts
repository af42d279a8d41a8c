import { PortolanError } from "../errors.ts";
import type { JsonObject, RpcResponse } from "../jsonrpc/message.ts";
import { RpcError } from "../jsonrpc/message.ts";
import { clientCodec } from "../protocol/client-codec.ts";
import { isStatelessCode, protocolCodes } from "../protocol/errors.ts";
import type { Revision } from "../protocol/revision.ts";
import { metaKeys, metaOf } from "../protocol/revision.ts";
import { revisions, statefulRevisions, statelessRevisions } from "../protocol/revisions/index.ts";
import type { Implementation, ServerCapabilities } from "../protocol/types/index.ts";
import { object, optional, record, string } from "../schema/shape.ts";
import type { ServerProfile } from "./api.ts";
import { HandshakeWanted } from "./channel-link.ts";
import type { ClientConnection } from "./connection.ts";
import type { EraCache } from "./era-cache.ts";
import { toError } from "./failures.ts";
import { defaultProbeMs } from "./limits.ts";

/** Loads the part for connections with a handshake, and for those that fail. */
export const loadHandshake = (): Promise<typeof import("./handshake.ts")> => import("./handshake.ts");

export const newestStateless = statelessRevisions[0] as Revision;
export const newestStateful = statefulRevisions[0] as Revision;

/** Opens the link and agrees on a revision with the server. */
export async function negotiate(connection: ClientConnection, cache: EraCache | undefined): Promise<ServerProfile> {
  if (cache) return cache.negotiate(connection);
  await connection.open();
  await agree(connection);
  return connection.profile as ServerProfile;
}

/** The reason for an agreement. One that follows from silence alone is not cached: the server may have been slow. */
export type Evidence = "answer" | "silence";

/** Sets the connection's revision and profile. */
export async function agree(
  connection: ClientConnection,
  era: string = connection.options.era ?? "auto",
): Promise<Evidence> {
  if (era === "auto") return agreeByProbe(connection);
  const { agreeOn } = await loadHandshake();
  await agreeOn(connection, era);
  return "answer";
}

async function agreeByProbe(connection: ClientConnection): Promise<Evidence> {
  let isLost = false;
  const stopListening = connection.onLost(() => {
    isLost = true;
  });
  try {
    const probe = sendRequest(connection, "server/discover", discoverParams(connection, newestStateless));
    const answered = probe.then((response) => readProbe(response, newestStateless), readFailedProbe);
    const first = await (connection.link.silenceMeans === "outage" ? answered : withProbeTimeout(connection, answered));
    if (first !== "silence") {
      await applyProbe(connection, first, newestStateless);
      return "answer";
    }
    const { raceProbeAndHandshake } = await loadHandshake();
    return await raceProbeAndHandshake(connection, probe, newestStateless, newestStateful);
  } catch (reason) {
    if (!(reason instanceof HandshakeWanted && !connection.profile)) {
      const { mayStartAgain } = await loadHandshake();
      if (!(await mayStartAgain(connection, reason, isLost))) throw reason;
      // Some older servers exit when they receive an unknown request: start again with the handshake.
      await reopen(connection, toError(reason));
    }
    await initialize(connection, newestStateful, false);
    return "answer";
  } finally {
    stopListening();
  }
}

/** The handshake is loaded on demand, because a stateless server needs none. */
async function initialize(connection: ClientConnection, revision: Revision, isPinned: boolean): Promise<void> {
  return (await loadHandshake()).initialize(connection, revision, isPinned);
}

async function reopen(connection: ClientConnection, reason: Error): Promise<void> {
  try {
    await connection.open();
  } catch {
    throw reason;
  }
}

/** The meaning of the answer to a probe. */
export type ProbeResult =
  | StatelessResult
  | { readonly kind: "try-version"; readonly revision: Revision }
  | { readonly kind: "stateful"; readonly revision: Revision; readonly why: string }
  | { readonly kind: "unusable"; readonly reason: Error };

interface StatelessResult {
  readonly kind: "stateless";
  readonly revision: Revision;
  readonly result: JsonObject;
}

/** Agrees as the result of a probe says, which may take another probe or a handshake. */
export async function applyProbe(connection: ClientConnection, probe: ProbeResult, probed: Revision): Promise<void> {
  switch (probe.kind) {
    case "stateless":
      useStateless(connection, probe);
      return;
    case "try-version": {
      const again = await discover(connection, probe.revision);
      if (again.kind === "stateless") useStateless(connection, again);
      else throw (await loadHandshake()).notSpoken(probed.version, again);
      return;
    }
    case "stateful":
      await initialize(connection, probe.revision, false);
      return;
    default:
      throw probe.reason;
  }
}

export function useStateless(connection: ClientConnection, { revision, result }: StatelessResult): void {
  const { capabilities, instructions } = result;
  connection.useRevision(revision);
  connection.profile = {
    version: revision.version,
    era: "stateless",
    info: readInfo(metaOf(result)?.[metaKeys.serverInfo]),
    capabilities: capabilities as ServerCapabilities,
    instructions: typeof instructions === "string" ? instructions : undefined,
  };
}

/** Returns the server's name and version; undefined if they are missing or invalid. */
export function readInfo(info: unknown): Implementation | undefined {
  const isInfo = object({ name: string, version: optional(string) })(info, "") === undefined;
  return isInfo ? (info as Implementation) : undefined;
}

export async function discover(connection: ClientConnection, revision: Revision): Promise<ProbeResult> {
  return readProbe(await sendRequest(connection, "server/discover", discoverParams(connection, revision)), revision);
}

function discoverParams(connection: ClientConnection, revision: Revision): JsonObject {
  return { _meta: clientCodec(revision).requestMeta(connection.self) };
}

/** Interprets the answer to `server/discover`. Older servers answer with any error, or with a result of another shape. */
export function readProbe(response: RpcResponse, probed: Revision): ProbeResult {
  const stateful = (why: string): ProbeResult => ({ kind: "stateful", revision: newestStateful, why });
  if ("result" in response) {
    const { result } = response;
    const { supportedVersions, capabilities } = result;
    if (!Array.isArray(supportedVersions) || record()(capabilities, "") !== undefined) {
      return stateful("its answer to server/discover names no versions");
    }
    const chosen = choose(supportedVersions);
    if (chosen.kind !== "try-version") return chosen;
    return { kind: "stateless", revision: chosen.revision, result };
  }
  const { code, message, data } = response.error;
  if (code !== protocolCodes.unsupportedVersion && isStatelessCode(code)) {
    return { kind: "unusable", reason: new RpcError(code, `The server refused server/discover: ${message}`, { data }) };
  }
  const { supported } = (data ?? {}) as { supported?: unknown };
  if (code !== protocolCodes.unsupportedVersion || !Array.isArray(supported)) return stateful(`${code}: ${message}`);
  const other = choose(supported.filter((version) => version !== probed.version));
  // A server that offers the very version it refused gets one more request with it, not two.
  return other.kind === "unusable" ? choose(supported) : other;
}

/** Interprets a failed probe: only older servers answer it with something that is no response. */
export function readFailedProbe(reason: unknown): ProbeResult {
  const isUnreadable = reason instanceof PortolanError && reason.code === "answer-invalid";
  if (!isUnreadable) throw reason;
  return { kind: "stateful", revision: newestStateful, why: reason.message };
}

/** Returns the best of the offered versions; the stateless era is preferred. */
function choose(offered: readonly unknown[]): ProbeResult {
  const revision = statelessRevisions.find(({ version }) => offered.includes(version));
  if (revision) return { kind: "try-version", revision };
  const old = statefulRevisions.find(({ version }) => offered.includes(version));
  if (old) return { kind: "stateful", revision: old, why: "it offers versions with a handshake only" };
  const ours = revisions.map(({ version }) => version).join(", ");
  const theirs = offered.slice(0, 10).map(String).join(", ");
  const why = `No common protocol version: the server supports ${theirs}; this client supports ${ours}`;
  return { kind: "unusable", reason: new PortolanError("version-mismatch", why) };
}

/** Sends a request of the negotiation. Rejects when the link fails. */
export function sendRequest(connection: ClientConnection, method: string, params: JsonObject): Promise<RpcResponse> {
  const response = new Promise<RpcResponse>((resolve, reject) => {
    const request = { jsonrpc: "2.0", id: connection.nextId(), method, params } as const;
    connection.link.exchange(request, { response: resolve, failed: reject });
  });
  // A race may leave this promise behind: without a handler its rejection would end the process.
  response.catch(() => {});
  return response;
}

/** Resolves to "silence" if there is no answer within `probeMs`. */
export function withProbeTimeout<T>(connection: ClientConnection, answered: Promise<T>): Promise<T | "silence"> {
  return new Promise((resolve, reject) => {
    const { probeMs = defaultProbeMs } = connection.options;
    const stopTimer = connection.clock.after(probeMs, () => resolve("silence"));
    answered.finally(stopTimer).then(resolve, reject);
  });
}
