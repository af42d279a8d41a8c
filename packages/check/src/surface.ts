import { connect, finishHandshake, type Place, shakeHands } from "./connect.ts";
import { at, isObject, type JsonObject, show } from "./json.ts";
import type { Peer } from "./peer.ts";
import { Failed, Silence } from "./reply.ts";
import type { RevisionDate, Transport } from "./revisions.ts";

/** What a server offers in one revision over one transport. */
export interface Surface {
  readonly revision: RevisionDate;
  readonly transport: Transport;
  readonly isSpoken: boolean;
  /** Why it is not spoken. */
  readonly reason?: string;
  /** Nothing came at all, not even a refusal. */
  readonly isSilent?: boolean;
  readonly capabilities: JsonObject;
  /** The server's introduction, as it came. */
  readonly introduction: JsonObject;
  readonly tools: readonly unknown[];
}

/** Finds out what a server offers; the connection is ready for more where there is something. */
export async function survey(place: Place): Promise<{ surface: Surface; peer?: Peer }> {
  const about = { revision: place.revision.date, transport: place.transport };
  let peer: Peer | undefined;
  try {
    peer = await connect(place);
    const introduction = await introduce(peer);
    const capabilities = at(introduction, "capabilities");
    const offered = isObject(capabilities) ? capabilities : {};
    const tools = isObject(offered["tools"]) ? await listTools(peer) : [];
    return { surface: { ...about, isSpoken: true, capabilities: offered, introduction, tools }, peer };
  } catch (error) {
    await peer?.close();
    const reason = show(error instanceof Error ? error.message : error, 300);
    const isSilent = error instanceof Silence || (peer?.inbox.over !== undefined && peer.inbox.messages.length === 0);
    return { surface: { ...about, isSpoken: false, isSilent, reason, capabilities: {}, introduction: {}, tools: [] } };
  }
}

/** The tools, as far as the server lists them; that it fails to is for the scenarios to find out. */
async function listTools(peer: Peer): Promise<readonly unknown[]> {
  try {
    return (await peer.list("tools/list", "tools")).entries;
  } catch (error) {
    if (error instanceof Failed) return [];
    throw error;
  }
}

async function introduce(peer: Peer): Promise<JsonObject> {
  const { date, isStateless } = peer.revision;
  const reply = isStateless ? await peer.request("server/discover") : await shakeHands(peer);
  const result = reply.result();
  if (!isSpokenIn(result, date, isStateless)) reply.fail(`a server of ${date}`);
  if (!isStateless) await finishHandshake(peer);
  return result;
}

function isSpokenIn(result: JsonObject, date: RevisionDate, isStateless: boolean): boolean {
  if (!isStateless) return result["protocolVersion"] === date;
  const versions = result["supportedVersions"];
  return Array.isArray(versions) && versions.includes(date);
}

/** Whether a server announces a capability: `resources.subscribe`. */
export function offers({ capabilities }: Surface, path: string): boolean {
  const found = at(capabilities, ...path.split("."));
  return found === true || isObject(found);
}
