import { nameOf, PortolanError } from "../errors.ts";
import { RpcError, type RpcResponse } from "../jsonrpc/message.ts";
import { clientCodec } from "../protocol/client-codec.ts";
import type { Revision } from "../protocol/revision.ts";
import { handshakes } from "../protocol/revisions/index.ts";
import type { ServerCapabilities } from "../protocol/types/index.ts";
import { object, record, string } from "../schema/shape.ts";
import type { ClientConnection } from "./connection.ts";
import { toError } from "./failures.ts";
import { ask, type Evidence, follow, orSilence, type ProbeResult, read, readInfo, unreadable } from "./negotiate.ts";

/** The handshake of stateful servers. Never cancelled: the protocol forbids it. */
export async function shakeHands(wire: ClientConnection, revision: Revision, isPinned: boolean): Promise<void> {
  const response = await ask(wire, "initialize", clientCodec(revision).handshake(wire.self));
  if ("error" in response) {
    const { code, message, data } = response.error;
    throw new RpcError(code, `The server refused the connection: ${message}`, { data });
  }
  const { result } = response;
  const problem = object({ protocolVersion: string, capabilities: record() })(result, "result");
  if (problem !== undefined) {
    throw new PortolanError("answer-invalid", `The server's answer to initialize is unusable: ${problem}`);
  }
  const { protocolVersion, capabilities, serverInfo, instructions } = result;
  const agreed = handshakes.find(({ version }) => version === protocolVersion);
  if (!agreed || (isPinned && agreed !== revision)) {
    const ours = isPinned ? revision.version : handshakes.map(({ version }) => version).join(", ");
    throw new PortolanError(
      "version-mismatch",
      `The server speaks protocol version ${nameOf(protocolVersion)}; this client was to speak ${ours}`,
    );
  }
  wire.settle(agreed);
  wire.profile = {
    version: agreed.version,
    era: "stateful",
    info: readInfo(serverInfo),
    capabilities: capabilities as ServerCapabilities,
    instructions: typeof instructions === "string" ? instructions : undefined,
  };
  wire.link.notify({ jsonrpc: "2.0", method: "notifications/initialized" });
}

/**
 * The probe met silence: an old server that ignores it, or one that is slow to start. The handshake is tried while the
 * probe stays open; a handshake that succeeds is the answer, and one that is refused leaves the word to the probe.
 */
export async function bothAtOnce(
  wire: ClientConnection,
  probe: Promise<RpcResponse>,
  probed: Revision,
  handshake: Revision,
): Promise<Evidence> {
  const late = probe.then((response) => read(response, probed), unreadable);
  const shaken = shakeHands(wire, handshake, false).then(
    () => undefined,
    (reason) => toError(reason),
  );
  const discovered: Promise<ProbeResult> = late.then((finding) =>
    finding.kind === "stateless" ? finding : shaken.then(() => finding),
  );
  for (const left of [late, discovered]) left.catch(() => {});
  const first = await Promise.race([shaken, discovered]);
  // A server that answered the probe after all may still answer the greeting, which then counts.
  const refused = first instanceof Error || first === undefined ? first : await orSilence(wire, shaken);
  if (refused === undefined) return "silence";
  const finding = await orSilence(wire, late);
  if (finding === "silence" || (finding.kind === "stateful" && finding.revision === handshake)) {
    throw refused === "silence"
      ? new PortolanError("timeout", "The server answers neither probe nor handshake")
      : refused;
  }
  await follow(wire, finding, probed);
  return "answer";
}
