import type { Peer, Started } from "../peer.ts";
import { check } from "../reply.ts";
import type { Scenario, Stage } from "../scenario.ts";

/** Cancels a request the way the revision and the transport ask for. */
async function cancel(stage: Stage, peer: Peer, call: Started): Promise<void> {
  if (stage.revision.isStateless && stage.transport === "http") call.drop();
  else
    await peer.notify("notifications/cancelled", { requestId: call.id, reason: "the grader changed its mind" }).begun;
}

async function cancelSlow(stage: Stage): Promise<number> {
  const peer = await stage.shared();
  const { name, arguments: given = {} } = stage.tool("slow");
  const call = peer.start("tools/call", { name, arguments: given });
  await peer.fence();
  await cancel(stage, peer, call);
  await peer.settle();
  return peer.inbox.responses(call.id).length;
}

export const cancellation: readonly Scenario[] = [
  {
    id: "cancel/running",
    title: "a cancelled request is answered once at most, and the connection goes on",
    requirements: ["J5", "C7", "E10"],
    strength: "must",
    needs: ["tools"],
    async run(stage) {
      const count = await cancelSlow(stage);
      check(count <= 1, () => `cancelled a running call; got ${count} responses; expected one at most`);
      return `cancelled a running call; got ${count} responses, and answers to later requests`;
    },
  },
  {
    id: "cancel/silent",
    title: "a cancelled request is not answered",
    requirements: ["J5", "C7"],
    strength: "should",
    needs: ["tools"],
    async run(stage) {
      const count = await cancelSlow(stage);
      check(count === 0, () => `cancelled a running call; got ${count} responses; expected none`);
      return "cancelled a running call; got no response";
    },
  },
  {
    id: "cancel/race",
    title: "a cancel that crosses the answer does no harm",
    requirements: ["J5"],
    strength: "must",
    needs: ["tools"],
    async run(stage) {
      const peer = await stage.shared();
      const { name, arguments: given = {} } = stage.tool("echo");
      const calls: Started[] = [];
      for (let round = 0; round < 10; round += 1) {
        const call = peer.start("tools/call", { name, arguments: given });
        calls.push(call);
        if (round % 2 === 1) await call.reply;
        await cancel(stage, peer, call);
      }
      await peer.settle();
      const counts = calls.map(({ id }) => peer.inbox.responses(id).length);
      check(
        Math.max(...counts) <= 1,
        () => `cancelled 10 short calls; got ${counts} responses; expected one each at most`,
      );
      return `cancelled 10 short calls; got ${counts} responses, and answers to later requests`;
    },
  },
  {
    id: "cancel/unknown",
    title: "cancelling what is not there does no harm",
    requirements: ["J5"],
    strength: "must",
    async run(stage) {
      const peer = await stage.shared();
      for (const params of [{ requestId: 424_242 }, { requestId: "nobody" }, { requestId: null }, {}]) {
        await peer.provoke(JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancelled", params }));
      }
      return "cancelled 4 requests that were never made; got answers to later requests";
    },
  },
];
