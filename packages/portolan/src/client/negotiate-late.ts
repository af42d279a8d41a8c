import { PortolanError } from "../errors.ts";
import type { RpcResponse } from "../jsonrpc/message.ts";
import type { Revision } from "../protocol/revision.ts";
import type { Wire } from "./connection.ts";
import { toError } from "./failures.ts";
import { shakeHands } from "./handshake.ts";
import { type Evidence, type Finding, follow, orSilence, read, unreadable } from "./negotiate.ts";

/**
 * The probe met silence: an old server that ignores it, or one that is slow to start. The handshake is tried while the
 * probe stays open; a handshake that succeeds is the answer, and one that is refused leaves the word to the probe.
 */
export async function bothAtOnce(
  wire: Wire,
  probe: Promise<RpcResponse>,
  probed: Revision,
  handshake: Revision,
): Promise<Evidence> {
  const late = probe.then((response) => read(response, probed), unreadable);
  const shaken = shakeHands(wire, handshake, false).then(
    () => undefined,
    (reason) => toError(reason),
  );
  const discovered: Promise<Finding> = late.then((finding) =>
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
