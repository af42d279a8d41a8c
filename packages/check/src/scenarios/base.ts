import { type JsonObject, show } from "../json.ts";
import type { Peer, ToolUse } from "../peer.ts";
import { check } from "../reply.ts";
import { lastStateful, type Scenario, type ScenarioContext } from "../scenario.ts";

/** Returns the same tool use with other texts. */
function marked(tool: ToolUse, text: string): ToolUse {
  const given = Object.entries(tool.arguments ?? {});
  return {
    ...tool,
    arguments: Object.fromEntries(given.map(([name, value]) => [name, typeof value === "string" ? text : value])),
  };
}

/** Returns parallel requests, each with the text that its answer must contain. */
function many(
  peer: Peer,
  context: ScenarioContext,
): { id: unknown; text: string; reply: ReturnType<Peer["request"]> }[] {
  const echo = context.tool("echo");
  return Array.from({ length: 20 }, (_, index) => {
    const text = `caller ${index} of 20`;
    const { name, arguments: given = {} } = marked(echo, text);
    return { text, ...peer.start("tools/call", { name, arguments: given }) };
  });
}

export const base: readonly Scenario[] = [
  {
    id: "base/unknown-method",
    title: "an unknown method is refused with -32601",
    requirements: ["A10"],
    strength: "must",
    async run(context) {
      const reply = await (await context.shared()).request("portolan/unknown", {});
      reply.error(-32601);
      return reply.summary;
    },
  },
  {
    id: "base/invalid-params",
    title: "invalid params are refused with -32602",
    requirements: ["A10"],
    strength: "should",
    needs: ["tools"],
    async run(context) {
      const name = context.harmlessTool();
      const reply = await (await context.shared()).request("tools/call", { name, arguments: "no object" });
      reply.error(-32602);
      return reply.summary;
    },
  },
  {
    id: "base/unknown-tool",
    title: "an unknown tool is refused with -32602",
    requirements: ["G12"],
    strength: "should",
    needs: ["tools"],
    async run(context) {
      const reply = await (await context.shared()).request("tools/call", {
        name: "portolan-no-such-tool",
        arguments: {},
      });
      reply.error(-32602);
      return reply.summary;
    },
  },
  {
    id: "base/ids",
    title: "a response has the id of its request, with the same type",
    requirements: ["A2", "A4"],
    strength: "must",
    async run(context) {
      const peer = await context.shared();
      const ids = [0, "", "0", "7", -1, Number.MAX_SAFE_INTEGER, "grüße 🌊", "x".repeat(300)];
      for (const id of ids) (await peer.request(context.revision.simplest, undefined, { id })).result();
      return `sent ${context.revision.simplest} under ${ids.length} kinds of ids; got each of them back`;
    },
  },
  {
    id: "base/duplicate-ids",
    title: "two requests with the same id are answered or refused, and the connection stays open",
    requirements: ["A3"],
    strength: "should",
    async run(context) {
      const peer = await context.shared();
      const [one, other] = [
        peer.start(context.revision.simplest, undefined, { id: "twice" }),
        peer.start(context.revision.simplest, undefined, { id: "twice" }),
      ];
      await Promise.all([one.reply, other.reply]);
      await peer.settle();
      const { length } = peer.inbox.responses("twice");
      check(length <= 2, () => `sent 2 requests under one id; got ${length} responses; expected one or two`);
      return `sent 2 requests under one id; got ${length} responses, and later ones to other requests`;
    },
  },
  {
    id: "base/exactly-once",
    title: "each of many parallel requests gets exactly one response, its own",
    requirements: ["A4", "E12"],
    strength: "must",
    needs: ["tools"],
    async run(context) {
      const peer = await context.shared();
      const calls = many(peer, context);
      for (const { text, reply } of calls) {
        const answer = await reply;
        check(show(answer.result(), 10_000).includes(text), () => answer.evidence(`an answer with “${text}”`));
      }
      await peer.settle();
      for (const { id } of calls) {
        const { length } = peer.inbox.responses(id);
        check(length === 1, () => `sent 20 calls at once; got ${length} responses under id ${show(id)}; expected one`);
      }
      return "sent 20 calls at once; got 20 responses, each its own";
    },
  },
  {
    id: "base/notifications",
    title: "notifications are never answered, known or not",
    requirements: ["A7"],
    strength: "must",
    async run(context) {
      const peer = await context.shared();
      const odd = [
        { jsonrpc: "2.0", method: "notifications/portolan/unknown", params: { any: "thing" } },
        { jsonrpc: "2.0", method: "portolan/unknown" },
      ];
      for (const message of odd) {
        const { messages } = await peer.sendInvalid(JSON.stringify(message));
        // Over HTTP a refused notification may have an error body without an id.
        const answers = messages.filter(
          (one) => one["method"] === undefined && (one["id"] != null || context.transport === "stdio"),
        );
        check(answers.length === 0, () => `sent ${show(message)}; got ${show(answers[0])}; expected no answer`);
      }
      return "sent two unknown notifications; got no answer, and answers to later requests";
    },
  },
  {
    id: "base/stray-responses",
    title: "responses without a request are ignored",
    requirements: ["A4", "J5"],
    strength: "must",
    until: lastStateful,
    async run(context) {
      const peer = await context.shared();
      for (const outcome of [{ result: {} }, { error: { code: -1, message: "no" } }]) {
        await peer.sendInvalid(JSON.stringify({ jsonrpc: "2.0", id: 987_654, ...outcome }));
      }
      return "sent two responses to nothing; got answers to later requests";
    },
  },
  {
    id: "base/invalid-request",
    title: "a message that is not a request is refused with -32600",
    requirements: ["A1", "A10"],
    strength: "should",
    async run(context) {
      const peer = await context.shared();
      const message = { jsonrpc: "1.0", id: "odd", method: context.revision.simplest };
      const { messages, posted } = await peer.sendInvalid(JSON.stringify(message), peer.headersOf(message));
      // Over HTTP+SSE the error may be the answer to the POST request instead of a message on the stream.
      const codes = [...messages, parsed(posted.body)].map((one) => (one["error"] as JsonObject | undefined)?.["code"]);
      check(
        codes.includes(-32600),
        () => `sent ${show(message)}; got ${show(messages[0] ?? posted.body) || "nothing"}; expected error -32600`,
      );
      return `sent ${show(message)}; got ${show(messages[0] ?? posted.body)}`;
    },
  },
  {
    id: "base/ping",
    title: "a ping is answered with an empty result",
    requirements: ["J6"],
    strength: "must",
    until: lastStateful,
    async run(context) {
      const reply = await (await context.shared()).request("ping");
      const extra = Object.keys(reply.result()).filter((name) => name !== "_meta");
      check(extra.length === 0, () => reply.evidence("an empty result"));
      return reply.summary;
    },
  },
];

/** Returns the object that a body contains; an empty one if it contains none. */
function parsed(body: string): JsonObject {
  try {
    return (JSON.parse(body) ?? {}) as JsonObject;
  } catch {
    return {};
  }
}
