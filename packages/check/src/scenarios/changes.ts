import { at, type JsonObject, show } from "../json.ts";
import type { Peer, PendingRequest, ToolUse } from "../peer.ts";
import { check, NotApplicable } from "../reply.ts";
import { metaKey } from "../revisions.ts";
import { firstStateless, lastStateful, type Scenario, type ScenarioContext } from "../scenario.ts";

const updated = "notifications/resources/updated";
const acknowledged = "notifications/subscriptions/acknowledged";
const toolsChanged = "notifications/tools/list_changed";

function updating(context: ScenarioContext): ToolUse & { uri: string } {
  const tool = context.tool("update");
  if (tool.uri === undefined) throw new NotApplicable(`which resource ${tool.name} changes is not known`);
  return { ...tool, uri: tool.uri };
}

function updatesOf(peer: Peer, uri: string): JsonObject[] {
  return peer.inbox.notifications(updated).filter((message) => at(message, "params", "uri") === uri);
}

/** The messages of one subscription. */
function taggedWith(peer: Peer, id: unknown): JsonObject[] {
  return peer.inbox.messages.filter((message) => at(message, "params", "_meta", metaKey("subscriptionId")) === id);
}

/** Opens a stream of changes. Resolves when the server has acknowledged it. */
async function listen(peer: Peer, id: string | number, notifications: JsonObject): Promise<PendingRequest> {
  const started = peer.start("subscriptions/listen", { notifications }, { id });
  const first = await peer.inbox.wait(`a first notification tagged ${show(id)}`, () => {
    const refusal = peer.inbox.responses(id)[0];
    return refusal ?? taggedWith(peer, id)[0];
  });
  check(
    first["method"] === acknowledged,
    () => `sent subscriptions/listen; got ${show(first)}; expected ${acknowledged} first`,
  );
  return started;
}

/** Ends a stream of changes as the transport requires. */
async function hangUp(context: ScenarioContext, peer: Peer, { id, drop }: PendingRequest): Promise<void> {
  if (context.transport === "http") drop();
  else peer.notify("notifications/cancelled", { requestId: id });
  await peer.settle();
}

export const changes: readonly Scenario[] = [
  {
    id: "updates/subscribe",
    title: "a subscriber of a resource is notified of its changes until it unsubscribes",
    requirements: ["H4"],
    strength: "must",
    until: lastStateful,
    needs: ["tools", "resources.subscribe"],
    async run(context) {
      const peer = await context.shared();
      const tool = updating(context);
      (await peer.request("resources/subscribe", { uri: tool.uri })).result();
      const before = updatesOf(peer, tool.uri).length;
      (await peer.call(tool)).result();
      await peer.inbox.wait(`${updated} for ${tool.uri}`, () => updatesOf(peer, tool.uri)[before]);
      (await peer.request("resources/unsubscribe", { uri: tool.uri })).result();
      await peer.settle();
      const heard = updatesOf(peer, tool.uri).length;
      (await peer.call(tool)).result();
      await peer.settle();
      const after = updatesOf(peer, tool.uri).length;
      check(after === heard, () => `unsubscribed from ${tool.uri} and changed it; got ${updated}; expected none`);
      return `subscribed to ${tool.uri} and changed it; got ${updated}, and none after unsubscribing`;
    },
  },
  {
    id: "updates/listen",
    title: "a stream of changes is acknowledged first, tagged, and has the requested resources",
    requirements: ["H4", "U1", "U3", "U4"],
    strength: "must",
    since: firstStateless,
    needs: ["tools", "resources.subscribe"],
    async run(context) {
      const peer = await context.shared();
      const tool = updating(context);
      for (const id of ["updates", 7_001]) {
        const started = await listen(peer, id, { resourceSubscriptions: [tool.uri] });
        (await peer.call(tool)).result();
        const change = await peer.inbox.wait(`${updated} tagged ${show(id)}`, () =>
          taggedWith(peer, id).find(({ method }) => method === updated),
        );
        check(at(change, "params", "uri") === tool.uri, () => `listened for ${tool.uri}; got ${show(change)}`);
        await hangUp(context, peer, started);
      }
      return `listened for ${tool.uri} under two kinds of ids and changed it; got ${acknowledged}, then ${updated}`;
    },
  },
  {
    id: "updates/unasked",
    title: "there are no notifications without a subscription, or after it has ended",
    requirements: ["U2", "C7", "U6"],
    strength: "must",
    since: firstStateless,
    needs: ["tools", "resources.subscribe"],
    async run(context) {
      const peer = await context.shared();
      const tool = updating(context);
      const ended = await listen(peer, "ended", { resourceSubscriptions: [tool.uri] });
      await hangUp(context, peer, ended);
      const other = await listen(peer, "other", { promptsListChanged: true });
      const from = peer.inbox.messages.length;
      (await peer.call(tool)).result();
      await peer.settle();
      const unasked = peer.inbox.messages.slice(from).find(({ method }) => method === updated);
      await hangUp(context, peer, other);
      check(!unasked, () => `changed ${tool.uri} for which nobody listens; got ${show(unasked)}; expected nothing`);
      return `changed ${tool.uri} for which nobody listens any more; got nothing`;
    },
  },
  {
    id: "changes/list",
    title: "a change of the tool list is announced",
    requirements: ["G9"],
    strength: "should",
    until: lastStateful,
    needs: ["tools.listChanged"],
    async run(context) {
      const peer = await context.shared();
      const before = peer.inbox.notifications(toolsChanged).length;
      (await peer.call(context.tool("grow"))).result();
      const change = await peer.inbox.wait(toolsChanged, () => peer.inbox.notifications(toolsChanged)[before]);
      return `changed the tools; got ${show(change)}`;
    },
  },
  {
    id: "changes/listen",
    title: "a change of the tool list is announced only on the stream that asked for it",
    requirements: ["G9", "U2", "U4"],
    strength: "must",
    since: firstStateless,
    // The official suite checks this over HTTP.
    transports: ["stdio"],
    needs: ["tools.listChanged"],
    async run(context) {
      const peer = await context.shared();
      const asked = await listen(peer, "tools", { toolsListChanged: true });
      const other = await listen(peer, "prompts", { promptsListChanged: true });
      (await peer.call(context.tool("grow"))).result();
      const isIt = ({ method }: JsonObject) => method === toolsChanged;
      await peer.inbox.wait(`${toolsChanged} on its stream`, () => taggedWith(peer, "tools").find(isIt));
      await peer.settle();
      const astray = peer.inbox
        .notifications(toolsChanged)
        .find((one) => at(one, "params", "_meta", metaKey("subscriptionId")) !== "tools");
      check(!astray, () => `listened for tools on one stream; got ${show(astray)}; expected it there only`);
      for (const started of [asked, other]) await hangUp(context, peer, started);
      return `changed the tools; got ${toolsChanged} on the stream that asked`;
    },
  },
  {
    id: "resources/not-found",
    title: "an unknown resource is refused with -32002",
    requirements: ["A11", "H5"],
    strength: "should",
    until: lastStateful,
    needs: ["resources"],
    async run(context) {
      const reply = await (await context.shared()).request("resources/read", { uri: "portolan://no-such-resource" });
      reply.error(-32002);
      return reply.summary;
    },
  },
  {
    id: "resources/not-found-params",
    title: "an unknown resource is refused with -32602",
    requirements: ["A11", "H5"],
    strength: "must",
    since: firstStateless,
    needs: ["resources"],
    async run(context) {
      const reply = await (await context.shared()).request("resources/read", { uri: "portolan://no-such-resource" });
      reply.error(-32602);
      return reply.summary;
    },
  },
];
