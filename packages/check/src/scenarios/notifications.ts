import { at, type JsonObject, show } from "../json.ts";
import type { Peer } from "../peer.ts";
import { check, NotApplicable } from "../reply.ts";
import { metaKey } from "../revisions.ts";
import { firstStateless, lastStateful, type Scenario } from "../scenario.ts";

const levels = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

function progressOf(peer: Peer, token: unknown): JsonObject[] {
  return peer.inbox
    .notifications("notifications/progress")
    .filter((one) => at(one, "params", "progressToken") === token);
}

/** Returns the levels of the log messages since. */
function loggedSince(peer: Peer, from: number): string[] {
  const messages = peer.inbox.messages.slice(from).filter(({ method }) => method === "notifications/message");
  return messages.map((message) => String(at(message, "params", "level")));
}

function isBelow(level: string, floor: string): boolean {
  return levels.indexOf(level) < levels.indexOf(floor);
}

export const telling: readonly Scenario[] = [
  {
    id: "progress/order",
    title: "progress increases, and arrives before the response, never after it",
    requirements: ["J3", "J4"],
    strength: "must",
    needs: ["tools"],
    async run(context) {
      const peer = await context.shared();
      const tool = context.tool("progress");
      for (const token of ["a token", 4_711]) {
        const reply = await peer.call(tool, { meta: { progressToken: token } });
        reply.result();
        await peer.settle();
        const told = progressOf(peer, token);
        if (told.length === 0) throw new NotApplicable(`${tool.name} told no progress`);
        const values = told.map((one) => Number(at(one, "params", "progress")));
        const grows = values.every((value, index) => index === 0 || value > Number(values[index - 1]));
        check(grows, () => `called ${tool.name} with a token; got progress ${values}; expected it to grow`);
        const order = peer.inbox.messages;
        const late = told.find((one) => order.indexOf(one) > order.indexOf(reply.message ?? {}));
        check(!late, () => `called ${tool.name} with a token; got ${show(late)} after the answer`);
      }
      return `called ${tool.name} with two kinds of tokens; got progress that grows, then the answer`;
    },
  },
  {
    id: "progress/unasked",
    title: "a request without a progress token gets no progress",
    requirements: ["J3"],
    strength: "must",
    needs: ["tools"],
    async run(context) {
      const peer = await context.shared();
      const tool = context.tool("progress");
      const before = peer.inbox.notifications("notifications/progress").length;
      (await peer.call(tool)).result();
      await peer.settle();
      const told = peer.inbox.notifications("notifications/progress")[before];
      check(!told, () => `called ${tool.name} without a token; got ${show(told)}; expected none`);
      return `called ${tool.name} without a token; got no progress`;
    },
  },
  {
    id: "logging/level",
    title: "nothing below the requested level is logged",
    requirements: ["J7", "J8"],
    strength: "must",
    until: lastStateful,
    needs: ["tools", "logging"],
    async run(context) {
      const peer = await context.shared();
      const tool = context.tool("log");
      const heard: string[][] = [];
      for (const floor of ["error", "debug"]) {
        (await peer.request("logging/setLevel", { level: floor })).result();
        const from = peer.inbox.messages.length;
        (await peer.call(tool)).result();
        await peer.settle();
        const logged = loggedSince(peer, from);
        const below = logged.find((level) => isBelow(level, floor));
        check(below === undefined, () => `set the level to ${floor}; got a message of level ${below}`);
        heard.push(logged);
      }
      return `set the level to error, then to debug; got ${heard.map((logged) => logged.length).join(", then ")} messages`;
    },
  },
  {
    id: "logging/bad-level",
    title: "an unknown log level is refused with -32602",
    requirements: ["J8"],
    strength: "should",
    until: lastStateful,
    needs: ["logging"],
    async run(context) {
      const reply = await (await context.shared()).request("logging/setLevel", { level: "loud" });
      reply.error(-32602);
      return reply.summary;
    },
  },
  {
    id: "logging/opt-in",
    title: "only requests that name a level get log messages, from that level on",
    requirements: ["J8", "J9"],
    strength: "must",
    since: firstStateless,
    needs: ["tools"],
    async run(context) {
      const peer = await context.shared();
      const tool = context.tool("log");
      const from = peer.inbox.messages.length;
      (await peer.call(tool)).result();
      await peer.settle();
      const unasked = loggedSince(peer, from);
      check(unasked.length === 0, () => `called ${tool.name} without a level; got ${unasked.length} messages`);
      (await peer.call(tool, { meta: { [metaKey("logLevel")]: "warning" } })).result();
      await peer.settle();
      const logged = loggedSince(peer, from);
      const below = logged.find((level) => isBelow(level, "warning"));
      check(below === undefined, () => `called ${tool.name} with level warning; got a message of level ${below}`);
      return `called ${tool.name} without a level, then with warning; got 0, then ${logged.length} messages`;
    },
  },
  {
    id: "logging/bad-request-level",
    title: "a request with an unknown log level is refused with -32602",
    requirements: ["J8"],
    strength: "should",
    since: firstStateless,
    needs: ["tools"],
    async run(context) {
      const peer = await context.shared();
      const reply = await peer.request("tools/list", {}, { meta: { [metaKey("logLevel")]: "loud" } });
      reply.error(-32602);
      return reply.summary;
    },
  },
];
