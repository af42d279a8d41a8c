import { nameOf, PortolanError } from "../errors.ts";
import { RpcError, type RpcResponse } from "../jsonrpc/message.ts";
import { clientCodec } from "../protocol/client-codec.ts";
import type { Revision } from "../protocol/revision.ts";
import { revisions, statefulRevisions } from "../protocol/revisions/index.ts";
import type { LogLevel, ServerCapabilities } from "../protocol/types/index.ts";
import { object, record, string } from "../schema/shape.ts";
import type { Client } from "./api.ts";
import type { ClientConnection } from "./connection.ts";
import { silent, toError } from "./failures.ts";
import {
  applyProbe,
  discover,
  type Evidence,
  newestStateful,
  newestStateless,
  type ProbeResult,
  readFailedProbe,
  readInfo,
  readProbe,
  sendRequest,
  useStateless,
  withProbeTimeout,
} from "./negotiate.ts";
import type { ProcessFailure } from "./process-errors.ts";

/** Sets the log level that the user wants from the beginning. */
export async function setFirstLogLevel(
  client: Pick<Client, "setLogLevel">,
  connection: ClientConnection,
  level: LogLevel,
): Promise<void> {
  const { signal } = connection.options;
  try {
    await client.setLogLevel(level, signal && { signal });
  } catch (reason) {
    // Many servers declare logging and cannot set its level; the rest of them works.
    if (connection.lostReason || signal?.aborted) throw reason;
    const { code, message } = reason as PortolanError;
    const why = `logging/setLevel failed (${code}): ${message}; the server keeps its own level`;
    connection.report(new PortolanError("capability-missing", why, { cause: reason }));
  }
}

/** Agrees on the era or revision that the user demands. */
export async function agreeOn(connection: ClientConnection, era: string): Promise<void> {
  const revision = revisionFor(era);
  if (revision.era === "stateful") return initialize(connection, revision, era !== "stateful");
  const isWanted = (found: Revision) => era === "stateless" || found === revision;
  let result = await discover(connection, revision);
  if (result.kind === "try-version" && isWanted(result.revision)) result = await discover(connection, result.revision);
  if (result.kind !== "stateless" || !isWanted(result.revision)) throw notSpoken(era, result);
  useStateless(connection, result);
}

function revisionFor(era: string): Revision {
  if (era === "stateless") return newestStateless;
  if (era === "stateful") return newestStateful;
  const found = revisions.find(({ version }) => version === era);
  if (found) return found;
  const versions = revisions.map(({ version }) => version).join(", ");
  throw new PortolanError(
    "invalid-argument",
    `era: expected "auto", "stateless", "stateful" or one of ${versions}, got ${nameOf(era)}`,
  );
}

/** Returns the reason why a server cannot be used with an era or revision. */
export function notSpoken(era: string, probe: ProbeResult): Error {
  if (probe.kind === "unusable") return probe.reason;
  const isOlder = probe.kind === "stateful";
  const why = isOlder ? `${probe.why}; use era: "auto" to accept what it supports` : "it refuses that version";
  return new PortolanError("version-mismatch", `The server does not support ${era}: ${why}`);
}

/** The server answered the handshake with an error. */
class HandshakeRefused extends RpcError {}

/**
 * Returns true if a handshake, as the first request of a new connection, may succeed after this failure: the server ended
 * on the probe, or a bridge began a session for the probe and refuses to begin it a second time. Its link is closed then.
 */
export async function mayStartAgain(connection: ClientConnection, reason: unknown, isLost: boolean): Promise<boolean> {
  if (isLost) return mayRestart(connection);
  const { link } = connection;
  const isRefused = reason instanceof HandshakeRefused && link.silenceMeans !== "outage";
  if (isRefused) await link.close();
  return isRefused;
}

/** False if the process of the server failed for a reason that a new start does not change. */
export function mayRestart({ lostReason }: ClientConnection): boolean {
  return (lostReason as Partial<ProcessFailure> | undefined)?.processEnd?.mayRestart !== false;
}

/**
 * Performs the handshake of the stateful era and sets the connection's revision and profile. `isPinned` accepts no other
 * version than that of `revision`. The request is never cancelled: the protocol forbids it.
 */
export async function initialize(connection: ClientConnection, revision: Revision, isPinned: boolean): Promise<void> {
  const response = await sendRequest(connection, "initialize", clientCodec(revision).handshake(connection.self));
  if ("error" in response) {
    const { code, message, data } = response.error;
    throw new HandshakeRefused(code, `The server refused the connection: ${message}`, { data });
  }
  const { result } = response;
  const problem = object({ protocolVersion: string, capabilities: record() })(result, "result");
  if (problem !== undefined) {
    throw new PortolanError("answer-invalid", `The server's answer to initialize is invalid: ${problem}`);
  }
  const { protocolVersion, capabilities, serverInfo, instructions } = result;
  const agreed = statefulRevisions.find(({ version }) => version === protocolVersion);
  if (!agreed || (isPinned && agreed !== revision)) {
    const ours = isPinned ? revision.version : statefulRevisions.map(({ version }) => version).join(", ");
    throw new PortolanError(
      "version-mismatch",
      `The server uses protocol version ${nameOf(protocolVersion)}; this client expected ${ours}`,
    );
  }
  connection.useRevision(agreed);
  connection.profile = {
    version: agreed.version,
    era: "stateful",
    info: readInfo(serverInfo),
    capabilities: capabilities as ServerCapabilities,
    instructions: typeof instructions === "string" ? instructions : undefined,
  };
  connection.link.notify({ jsonrpc: "2.0", method: "notifications/initialized" });
}

/**
 * Tries the handshake while the unanswered probe stays open: the server is an older one that ignores the probe, or is
 * slow to start. A successful handshake decides; after a refused one the probe decides.
 */
export async function raceProbeAndHandshake(
  connection: ClientConnection,
  probe: Promise<RpcResponse>,
  probed: Revision,
  handshake: Revision,
): Promise<Evidence> {
  const lateProbe = probe.then((response) => readProbe(response, probed), readFailedProbe);
  const initialized = initialize(connection, handshake, false).then(
    () => undefined,
    (reason) => toError(reason),
  );
  const discovered: Promise<ProbeResult> = lateProbe.then((result) =>
    result.kind === "stateless" ? result : initialized.then(() => result),
  );
  for (const unused of [lateProbe, discovered]) unused.catch(() => {});
  const first = await Promise.race([initialized, discovered]);
  // A server that answered the probe late may still answer the handshake, which then decides.
  const refusal =
    first instanceof Error || first === undefined ? first : await withProbeTimeout(connection, initialized);
  if (refusal === undefined) return "silence";
  const result = await withProbeTimeout(connection, lateProbe);
  if (result === "silence" || (result.kind === "stateful" && result.revision === handshake)) {
    throw refusal === "silence"
      ? await silent(connection.link, "The server answers neither server/discover nor initialize")
      : refusal;
  }
  await applyProbe(connection, result, probed);
  return "answer";
}
