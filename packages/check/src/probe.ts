import { connect, finishHandshake, type GradeContext, sendInitialize } from "./connect.ts";
import { at, isObject, type JsonObject, show } from "./json.ts";
import type { Peer } from "./peer.ts";
import { ExpectationFailed, TimedOut } from "./reply.ts";
import type { RevisionDate, Transport } from "./revisions.ts";

/** The features of a server in one revision over one transport. */
export interface ServerProfile {
  readonly revision: RevisionDate;
  readonly transport: Transport;
  readonly isSpoken: boolean;
  /** Why the server does not support the revision. */
  readonly reason?: string;
  /** Nothing was received, not even an error. */
  readonly isSilent?: boolean;
  readonly capabilities: JsonObject;
  /** The result of `initialize` or `server/discover`. */
  readonly introduction: JsonObject;
  readonly tools: readonly unknown[];
}

/** Probes the features of a server. Returns an open connection if it supports the revision. */
export async function probe(context: GradeContext): Promise<{ profile: ServerProfile; peer?: Peer }> {
  const about = { revision: context.revision.date, transport: context.transport };
  let peer: Peer | undefined;
  try {
    peer = await connect(context);
    const introduction = await introduce(peer);
    const capabilities = at(introduction, "capabilities");
    const offered = isObject(capabilities) ? capabilities : {};
    const tools = isObject(offered["tools"]) ? await listTools(peer) : [];
    return { profile: { ...about, isSpoken: true, capabilities: offered, introduction, tools }, peer };
  } catch (error) {
    await peer?.close();
    const reason = show(error instanceof Error ? error.message : error, 300);
    const isSilent =
      error instanceof TimedOut || (peer?.inbox.closedReason !== undefined && peer.inbox.messages.length === 0);
    return { profile: { ...about, isSpoken: false, isSilent, reason, capabilities: {}, introduction: {}, tools: [] } };
  }
}

/** Lists the tools as far as the server does; scenarios report failures of the list itself. */
async function listTools(peer: Peer): Promise<readonly unknown[]> {
  try {
    return (await peer.list("tools/list", "tools")).entries;
  } catch (error) {
    if (error instanceof ExpectationFailed) return [];
    throw error;
  }
}

async function introduce(peer: Peer): Promise<JsonObject> {
  const { date, isStateless } = peer.revision;
  const reply = isStateless ? await peer.request("server/discover") : await sendInitialize(peer);
  const result = reply.result();
  if (!isSpokenIn(result, date, isStateless)) reply.fail(`a server that supports ${date}`);
  if (!isStateless) await finishHandshake(peer);
  return result;
}

function isSpokenIn(result: JsonObject, date: RevisionDate, isStateless: boolean): boolean {
  if (!isStateless) return result["protocolVersion"] === date;
  const versions = result["supportedVersions"];
  return Array.isArray(versions) && versions.includes(date);
}

/** True if the server declares a capability, such as `resources.subscribe`. */
export function hasCapability({ capabilities }: ServerProfile, path: string): boolean {
  const found = at(capabilities, ...path.split("."));
  return found === true || isObject(found);
}
