import type { JsonObject } from "portolan";
import type { RawPeer } from "../kit/raw-peer.ts";
import { isStateless } from "../kit/revisions.ts";

const quietTools = ["echo", "add", "numbers", "nothing", "mixed", "fails", "throws", "unserializable"];
const asking = [
  "ask_name",
  "ask_colour",
  "ask_two",
  "ask_in_turn",
  "ask_explicitly",
  "ask_model",
  "ask_model_with_tools",
];

const args: { readonly [tool: string]: JsonObject } = {
  echo: { message: "hi" },
  add: { a: 1, b: 2 },
  progress: { steps: 2 },
};

/** Uses every feature of a revision once, in a fixed order. */
export async function playScenario(peer: RawPeer): Promise<void> {
  if (isStateless(peer.revision)) await playStateless(peer);
  else await playHandshake(peer);

  const { result } = await peer.request("tools/list");
  await peer.request("tools/list", { cursor: result.nextCursor });
  await peer.request("tools/list", { cursor: "garbage" });
  for (const list of ["resources/list", "resources/templates/list", "prompts/list"]) await peer.request(list);
  for (const name of quietTools) await peer.callTool(name, args[name]);
  await peer.callTool("add", { a: 1, b: "2" });
  await peer.callTool("no_such_tool");
  await peer.callTool("progress", args["progress"], { _meta: { progressToken: "p1" } });
  await peer.callTool("logs");

  for (const uri of ["note://a", "note://b", "page://alpha/1", "note://missing"])
    await peer.request("resources/read", { uri });
  await peer.request("prompts/get", { name: "greet", arguments: { who: "Ada" } });
  await peer.request("prompts/get", { name: "media" });
  await peer.request("prompts/get", { name: "greet" });
  const argument = { name: "book", value: "al" };
  await peer.request("completion/complete", { ref: { type: "ref/resource", uri: "page://{book}/{number}" }, argument });

  for (const name of [...asking, "ask_roots", "ask_visit"]) await peer.callTool(name);
  await peer.converse("resources/read", { uri: "note://asks" });
  await peer.converse("prompts/get", { name: "asks" });
  await peer.request("no/such/method");
  await playCancellation(peer);
}

async function playHandshake(peer: RawPeer): Promise<void> {
  const capabilities = peer.meta();
  await peer.request("initialize", {
    protocolVersion: peer.revision,
    capabilities: capabilitiesOf(peer.revision),
    clientInfo: { name: "raw-peer", version: "1.0.0" },
    ...capabilities,
  });
  peer.notify("notifications/initialized");
  await peer.request("ping");
  await peer.request("logging/setLevel", { level: "error" });
  await peer.request("resources/subscribe", { uri: "note://a" });
  await peer.callTool("change");
  await peer.settled();
  await peer.request("resources/unsubscribe", { uri: "note://a" });
  if (peer.revision === "2025-03-26") await playBatch(peer);
}

/** The capabilities that clients of the revision declare. */
function capabilitiesOf(revision: string): JsonObject {
  const older = { roots: { listChanged: true }, sampling: {} };
  if (revision < "2025-06-18") return older;
  if (revision < "2025-11-25") return { ...older, elicitation: {} };
  return { roots: {}, sampling: { tools: {}, context: {} }, elicitation: { form: {}, url: {} } };
}

async function playBatch(peer: RawPeer): Promise<void> {
  const ids = ["b1", "b2"];
  const responses = ids.map((id) => peer.responseTo(id));
  peer.sendBatch(ids.map((id) => ({ jsonrpc: "2.0" as const, id, method: "ping" })));
  await Promise.all(responses);
}

async function playStateless(peer: RawPeer): Promise<void> {
  await peer.request("server/discover");
  const notifications = { toolsListChanged: true, resourceSubscriptions: ["note://a"] };
  peer.send({
    jsonrpc: "2.0",
    id: "listen-1",
    method: "subscriptions/listen",
    params: { notifications, _meta: peer.meta() },
  });
  await peer.notification("notifications/subscriptions/acknowledged");
  await peer.callTool("change");
  await peer.settled();
  peer.notify("notifications/cancelled", { requestId: "listen-1" });
}

async function playCancellation(peer: RawPeer): Promise<void> {
  const params = { name: "wait", arguments: { ms: 60_000 } };
  peer.send({ jsonrpc: "2.0", id: "slow", method: "tools/call", params: peer.describe(params) });
  peer.notify("notifications/cancelled", { requestId: "slow", reason: "enough" });
  await peer.settled();
}
