import type { Peer, PendingRequest } from "../peer.ts";
import { check } from "../reply.ts";
import type { Scenario, ScenarioContext } from "../scenario.ts";

/** Cancels a request as the revision and the transport require. */
async function cancel(context: ScenarioContext, peer: Peer, call: PendingRequest): Promise<void> {
  if (context.revision.isStateless && context.transport === "http") call.drop();
  else
    await peer.notify("notifications/cancelled", { requestId: call.id, reason: "the grader changed its mind" }).begun;
}

async function cancelSlow(context: ScenarioContext): Promise<number> {
  const peer = await context.shared();
  const { name, arguments: given = {} } = context.tool("slow");
  const call = peer.start("tools/call", { name, arguments: given });
  await peer.roundTrip();
  await cancel(context, peer, call);
  await peer.settle();
  return peer.inbox.responses(call.id).length;
}

export const cancellation: readonly Scenario[] = [
  {
    id: "cancel/running",
    title: "a cancelled request gets at most one response, and the connection stays open",
    requirements: ["J5", "C7", "E10"],
    strength: "must",
    needs: ["tools"],
    async run(context) {
      const count = await cancelSlow(context);
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
    async run(context) {
      const count = await cancelSlow(context);
      check(count === 0, () => `cancelled a running call; got ${count} responses; expected none`);
      return "cancelled a running call; got no response";
    },
  },
  {
    id: "cancel/race",
    title: "a cancellation that crosses the response does no harm",
    requirements: ["J5"],
    strength: "must",
    needs: ["tools"],
    async run(context) {
      const peer = await context.shared();
      const { name, arguments: given = {} } = context.tool("echo");
      const calls: PendingRequest[] = [];
      for (let round = 0; round < 10; round += 1) {
        const call = peer.start("tools/call", { name, arguments: given });
        calls.push(call);
        if (round % 2 === 1) await call.reply;
        await cancel(context, peer, call);
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
    title: "a cancellation of an unknown request does no harm",
    requirements: ["J5"],
    strength: "must",
    async run(context) {
      const peer = await context.shared();
      for (const params of [{ requestId: 424_242 }, { requestId: "nobody" }, { requestId: null }, {}]) {
        await peer.sendInvalid(JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancelled", params }));
      }
      return "cancelled 4 requests that were never made; got answers to later requests";
    },
  },
];
