import { at, type JsonObject, show } from "../json.ts";
import type { Peer } from "../peer.ts";
import { check } from "../reply.ts";
import type { Scenario, ScenarioContext } from "../scenario.ts";

const onlyIn = { since: "2025-03-26", until: "2025-03-26" } as const;

/** Checks that a batch of one request is refused, not ignored. */
async function refuse(context: ScenarioContext): Promise<string> {
  const peer = await context.shared();
  const request = peer.toRequest(context.revision.simplest, undefined, { id: "in a batch" });
  const batch = [request];
  const { messages, posted } = await peer.sendInvalid(JSON.stringify(batch), peer.headersOf(request));
  const refusal = messages.find((message) => at(message, "error", "code") !== undefined);
  const isRefused = refusal !== undefined || (posted.status !== undefined && posted.status >= 400);
  const seen = messages[0]
    ? show(messages[0])
    : `nothing${posted.status === undefined ? "" : ` (HTTP ${posted.status})`}`;
  check(isRefused && peer.inbox.responses("in a batch").every((one) => !("result" in one)), () => {
    return `sent ${show(batch)}; got ${seen}; expected error -32600`;
  });
  return `sent a batch; got ${seen}`;
}

function plain(peer: Peer, id: string): JsonObject {
  return peer.toRequest("ping", undefined, { id });
}

export const batches: readonly Scenario[] = [
  {
    id: "batch/answered",
    title: "each request of a batch is answered once, and no notification is",
    requirements: ["A8"],
    strength: "must",
    ...onlyIn,
    async run(context) {
      const peer = await context.shared();
      const unknown = peer.toRequest("portolan/unknown", {}, { id: "batch 2" });
      const notification = { jsonrpc: "2.0", method: "notifications/portolan/unknown" };
      peer.post(JSON.stringify([plain(peer, "batch 1"), notification, unknown, plain(peer, "batch 3")]));
      const ids = ["batch 1", "batch 2", "batch 3"];
      for (const id of ids) await peer.inbox.wait(`the answer to ${id}`, () => peer.inbox.responses(id)[0]);
      await peer.settle();
      const counts = ids.map((id) => peer.inbox.responses(id).length);
      check(
        counts.every((count) => count === 1),
        () => `sent a batch of 3 requests; got ${counts} responses; expected one each`,
      );
      const code = at(peer.inbox.responses("batch 2")[0], "error", "code");
      check(code === -32601, () => `sent an unknown method in a batch; got ${show(code)}; expected -32601`);
      return "sent a batch of 3 requests and a notification; got 3 responses";
    },
  },
  {
    id: "batch/empty",
    title: "an empty batch is refused with -32600",
    requirements: ["A8", "5.2.1"],
    strength: "should",
    ...onlyIn,
    async run(context) {
      const { messages, posted } = await (await context.shared()).sendInvalid("[]");
      const seen = show(messages[0] ?? posted.body) || "nothing";
      check(at(messages[0], "error", "code") === -32600, () => `sent []; got ${seen}; expected error -32600`);
      return `sent []; got ${seen}`;
    },
  },
  {
    id: "batch/notifications-only",
    title: "a batch of notifications is accepted without a response",
    requirements: ["A8", "E4", "5.2.1"],
    strength: "must",
    ...onlyIn,
    async run(context) {
      const peer = await context.shared();
      const notification = { jsonrpc: "2.0", method: "notifications/portolan/unknown" };
      const { messages, posted } = await peer.sendInvalid(JSON.stringify([notification, notification]));
      const isFine = messages.length === 0 && (posted.status === undefined || posted.status === 202);
      check(
        isFine,
        () => `sent 2 notifications in a batch; got ${show(messages[0] ?? posted.status)}; expected no answer`,
      );
      return `sent 2 notifications in a batch; got ${posted.status ?? "nothing"}`;
    },
  },
  {
    id: "batch/handshake",
    title: "a handshake inside a batch is refused",
    requirements: ["A8"],
    strength: "should",
    ...onlyIn,
    async run(context) {
      const peer = await context.connect();
      const params = {
        protocolVersion: context.revision.date,
        capabilities: {},
        clientInfo: { name: "x", version: "1" },
      };
      const batch = [peer.toRequest("initialize", params, { id: "batched" }), plain(peer, "beside")];
      if (context.transport === "stdio") await peer.sendInvalid(JSON.stringify(batch));
      else await peer.post(JSON.stringify(batch)).finished;
      const accepted = peer.inbox.responses("batched").find((message) => "result" in message);
      check(!accepted, () => `sent initialize in a batch; got ${show(accepted)}; expected an error`);
      return `sent initialize in a batch; got ${peer.inbox.messages[0] ? show(peer.inbox.messages[0]) : "nothing"}`;
    },
  },
  {
    id: "batch/undefined",
    title: "a batch is refused, not ignored",
    requirements: ["A8"],
    strength: "should",
    until: "2024-11-05",
    run: refuse,
  },
  {
    id: "batch/refused",
    title: "a batch is refused, not ignored",
    requirements: ["A8", "C1", "E3", "5.3.3"],
    strength: "should",
    since: "2025-06-18",
    run: refuse,
  },
];
