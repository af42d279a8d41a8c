import { nameOf, PortolanError } from "../errors.ts";
import { RpcError } from "../jsonrpc/message.ts";
import { clientCodec } from "../protocol/client-codec.ts";
import type { Revision } from "../protocol/revision.ts";
import { handshakes } from "../protocol/revisions/index.ts";
import type { ServerCapabilities } from "../protocol/types/index.ts";
import { object, record, string } from "../schema/shape.ts";
import type { Wire } from "./connection.ts";
import { ask, readInfo } from "./negotiate.ts";

/** The handshake of stateful servers. Never cancelled: the protocol forbids it. */
export async function shakeHands(wire: Wire, revision: Revision, isPinned: boolean): Promise<void> {
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
