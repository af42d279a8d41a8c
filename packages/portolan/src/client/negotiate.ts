import { nameOf, PortolanError } from "../errors.ts";
import type { JsonObject, RpcResponse } from "../jsonrpc/message.ts";
import { RpcError } from "../jsonrpc/message.ts";
import { clientCodec } from "../protocol/client-codec.ts";
import type { Revision } from "../protocol/revision.ts";
import { metaKeys, metaOf } from "../protocol/revision.ts";
import { handshakes, perRequest, revisions } from "../protocol/revisions/index.ts";
import type { Implementation, ServerCapabilities } from "../protocol/types/index.ts";
import { object, optional, record, string } from "../schema/shape.ts";
import type { ServerProfile } from "./api.ts";
import { HandshakeWanted } from "./channel-link.ts";
import type { ClientConnection } from "./connection.ts";
import { toError } from "./failures.ts";

const defaultProbeMs = 4_000;

/** Settled by a stateless server: it can be spoken to without a handshake. */
interface Discovered {
  readonly revision: Revision;
  readonly result: JsonObject;
}

/** What the answer to a probe says about its server. */
export type ProbeResult =
  | ({ readonly kind: "stateless" } & Discovered)
  | { readonly kind: "try-version"; readonly revision: Revision }
  | { readonly kind: "stateful"; readonly revision: Revision; readonly why: string }
  | { readonly kind: "unusable"; readonly reason: Error };

/** How sure the outcome is; what follows from silence alone is not remembered. */
export type Evidence = "answer" | "silence";

/** Finds out what the server speaks, agrees on a revision with it, and says whether it may be remembered. */
export async function negotiate(wire: ClientConnection, era: string): Promise<Evidence> {
  if (era === "auto") return negotiateAuto(wire);
  const revision = revisionFor(era);
  if (revision.lifecycle === "handshake") {
    await shakeHands(wire, revision, era !== "stateful");
    return "answer";
  }
  const isWanted = (found: Revision) => era === "stateless" || found === revision;
  let finding = await discover(wire, revision);
  if (finding.kind === "try-version" && isWanted(finding.revision)) finding = await discover(wire, finding.revision);
  if (finding.kind === "stateless" && isWanted(finding.revision)) {
    become(wire, finding);
    return "answer";
  }
  throw finding.kind === "unusable" ? finding.reason : notSpoken(era, finding);
}

function revisionFor(era: string): Revision {
  const [newest] = era === "stateless" ? perRequest : handshakes;
  const found = revisions.find(({ version }) => version === era);
  if (found) return found;
  if ((era === "stateless" || era === "stateful") && newest) return newest;
  const versions = revisions.map(({ version }) => version).join(", ");
  throw new PortolanError(
    "invalid-argument",
    `era: expected "auto", "stateless", "stateful" or one of ${versions}, got ${nameOf(era)}`,
  );
}

async function negotiateAuto(wire: ClientConnection): Promise<Evidence> {
  const [newest] = perRequest;
  const [handshake] = handshakes;
  if (!newest || !handshake) throw new Error("both eras have revisions");
  let isLost = false;
  const stopListening = wire.onLost(() => {
    isLost = true;
  });
  try {
    const probe = ask(wire, "server/discover", discoverParams(wire, newest));
    const answered = probe.then((response) => read(response, newest), unreadable);
    const first = await (wire.link.silenceMeans === "outage" ? answered : orSilence(wire, answered));
    if (first !== "silence") {
      await follow(wire, first, newest);
      return "answer";
    }
    const { bothAtOnce } = await import("./handshake.ts");
    return await bothAtOnce(wire, probe, newest, handshake);
  } catch (reason) {
    if (reason instanceof HandshakeWanted && !wire.profile) {
      await shakeHands(wire, handshake, false);
      return "answer";
    }
    if (!isLost) throw reason;
    // Some old servers exit when they hear what they do not know: start it again and greet it as they expect.
    await reopen(wire, toError(reason));
    await shakeHands(wire, handshake, false);
    return "answer";
  } finally {
    stopListening();
  }
}

export async function follow(wire: ClientConnection, finding: ProbeResult, probed: Revision): Promise<void> {
  switch (finding.kind) {
    case "stateless":
      become(wire, finding);
      return;
    case "try-version": {
      const again = await discover(wire, finding.revision);
      if (again.kind === "stateless") become(wire, again);
      else throw again.kind === "unusable" ? again.reason : notSpoken(probed.version, again);
      return;
    }
    case "stateful":
      await shakeHands(wire, finding.revision, false);
      return;
    default:
      throw finding.reason;
  }
}

/** The handshake of stateful servers; loaded when there is one, because a stateless server needs none. */
async function shakeHands(wire: ClientConnection, revision: Revision, isPinned: boolean): Promise<void> {
  return (await import("./handshake.ts")).shakeHands(wire, revision, isPinned);
}

function become(wire: ClientConnection, { revision, result }: Discovered): void {
  wire.settle(revision);
  wire.profile = profileOf(revision, result);
}

function profileOf(revision: Revision, result: JsonObject): ServerProfile {
  const { capabilities, instructions } = result;
  return {
    version: revision.version,
    era: "stateless",
    info: readInfo(metaOf(result)?.[metaKeys.serverInfo]),
    capabilities: capabilities as ServerCapabilities,
    instructions: typeof instructions === "string" ? instructions : undefined,
  };
}

/** Who the server says it is; undefined for what says nothing. */
export function readInfo(info: unknown): Implementation | undefined {
  const isInfo = object({ name: string, version: optional(string) })(info, "") === undefined;
  return isInfo ? (info as Implementation) : undefined;
}

async function discover(wire: ClientConnection, revision: Revision): Promise<ProbeResult> {
  return read(await ask(wire, "server/discover", discoverParams(wire, revision)), revision);
}

function discoverParams(wire: ClientConnection, revision: Revision): JsonObject {
  return { _meta: clientCodec(revision).requestMeta(wire.self) };
}

/** Errors that only a server of the stateless era gives. */
const unsupportedVersionCode = -32022;
const statelessCodes = [-32020, -32021];

export function read(response: RpcResponse, probed: Revision): ProbeResult {
  const [newestHandshake] = handshakes;
  const stateful = (why: string): ProbeResult =>
    newestHandshake
      ? { kind: "stateful", revision: newestHandshake, why }
      : { kind: "unusable", reason: new Error("no handshake revisions") };
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
  if (statelessCodes.includes(code)) {
    return { kind: "unusable", reason: new RpcError(code, `The server refused server/discover: ${message}`, { data }) };
  }
  const { supported } = (data ?? {}) as { supported?: unknown };
  if (code !== unsupportedVersionCode || !Array.isArray(supported)) return stateful(`${code}: ${message}`);
  const other = choose(supported.filter((version) => version !== probed.version));
  // Who offers the very version that it refused is taken at its word: whoever follows this asks once more, not twice.
  return other.kind === "unusable" ? choose(supported) : other;
}

/** An answer that cannot be read is one of those that old servers give. */
export function unreadable(reason: unknown): ProbeResult {
  const [revision] = handshakes;
  const isUnreadable = reason instanceof PortolanError && reason.code === "answer-invalid";
  if (!isUnreadable || !revision) throw reason;
  return { kind: "stateful", revision, why: reason.message };
}

/** The best version of a list, whichever era it is of. */
function choose(offered: readonly unknown[]): ProbeResult {
  const revision = perRequest.find(({ version }) => offered.includes(version));
  if (revision) return { kind: "try-version", revision };
  const old = handshakes.find(({ version }) => offered.includes(version));
  if (old) return { kind: "stateful", revision: old, why: "it offers versions with a handshake only" };
  const ours = revisions.map(({ version }) => version).join(", ");
  const why = `The server speaks protocol versions ${offered.slice(0, 10).map(String).join(", ")}; this client ${ours}`;
  return { kind: "unusable", reason: new PortolanError("version-mismatch", why) };
}

function notSpoken(era: string, finding: ProbeResult): PortolanError {
  const isOlder = finding.kind === "stateful";
  const why = isOlder ? `${finding.why}; era: "auto" would take what it speaks` : "it refuses that version";
  return new PortolanError("version-mismatch", `The server does not speak ${era}: ${why}`);
}

/** One request before there are calls; rejects when the link fails. */
export function ask(wire: ClientConnection, method: string, params: JsonObject): Promise<RpcResponse> {
  const response = new Promise<RpcResponse>((resolve, reject) => {
    wire.link.exchange({ jsonrpc: "2.0", id: wire.nextId(), method, params }, { response: resolve, failed: reject });
  });
  // It may be left behind; whoever waits for it hears of its end all the same.
  response.catch(() => {});
  return response;
}

/** What is answered, or that nothing was for as long as a probe may take. */
export function orSilence<T>(wire: ClientConnection, answered: Promise<T>): Promise<T | "silence"> {
  return new Promise((resolve, reject) => {
    const stopWaiting = wire.clock.after(wire.options.probeMs ?? defaultProbeMs, () => resolve("silence"));
    answered.finally(stopWaiting).then(resolve, reject);
  });
}

async function reopen(wire: ClientConnection, reason: Error): Promise<void> {
  try {
    await wire.open();
  } catch {
    throw reason;
  }
}
