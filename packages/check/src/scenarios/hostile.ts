import { show } from "../json.ts";
import type { Peer } from "../peer.ts";
import { check } from "../reply.ts";
import type { Scenario, ScenarioContext } from "../scenario.ts";

const hole = "portolan hole";

/** Builds a request with raw text instead of a value. */
async function sendWith(context: ScenarioContext, peer: Peer, raw: string | Uint8Array): Promise<string> {
  const request = peer.toRequest(context.revision.simplest, { hole });
  const [before = "", after = ""] = JSON.stringify(request).split(JSON.stringify(hole));
  const body = Buffer.concat([Buffer.from(before), Buffer.from(raw), Buffer.from(after)]);
  const { messages, posted } = await peer.sendInvalid(body, peer.headersOf(request));
  return messages[0] ? show(messages[0], 120) : posted.status === undefined ? "nothing" : `HTTP ${posted.status}`;
}

export const hostile: readonly Scenario[] = [
  {
    id: "hostile/depth",
    title: "a deeply nested value does no harm",
    requirements: ["I9"],
    strength: "must",
    async run(context) {
      const depth = 50_000;
      const seen = await sendWith(context, await context.shared(), `${"[".repeat(depth)}${"]".repeat(depth)}`);
      return `sent a value of depth ${depth}; got ${seen}, and answers to later requests`;
    },
  },
  {
    id: "hostile/invalid-utf8",
    title: "invalid UTF-8 does no harm",
    requirements: ["A9"],
    strength: "must",
    async run(context) {
      const bytes = Buffer.from([0x22, 0xc3, 0x28, 0xff, 0xfe, 0x22]);
      const seen = await sendWith(context, await context.shared(), bytes);
      return `sent bytes that are no UTF-8; got ${seen}, and answers to later requests`;
    },
  },
  {
    id: "hostile/prototype",
    title: "members named like object internals, such as __proto__, do no harm",
    requirements: ["A1"],
    strength: "must",
    async run(context) {
      const peer = await context.shared();
      const raw = '{"__proto__":{"method":"x","id":1},"constructor":{"prototype":{"result":{}}}}';
      const seen = await sendWith(context, peer, raw);
      return `sent ${raw}; got ${seen}, and answers to later requests`;
    },
  },
  {
    id: "hostile/large-message",
    title: "a message of 2 MiB is answered or refused",
    requirements: ["C1", "2.4"],
    strength: "should",
    async run(context) {
      const seen = await sendWith(context, await context.shared(), JSON.stringify("x".repeat(2 * 1024 * 1024)));
      const isAnswered = seen !== "nothing" && seen !== "HTTP 202";
      check(isAnswered, () => `sent a message of 2 MiB; got ${seen}; expected an answer`);
      return `sent a message of 2 MiB; got ${seen}, and answers to later requests`;
    },
  },
  {
    id: "hostile/too-large",
    title: "a body of 10 MiB is answered or refused cleanly",
    requirements: ["2.4"],
    strength: "should",
    transports: ["http"],
    async run(context) {
      const peer = await context.shared();
      const seen = await sendWith(context, peer, JSON.stringify("x".repeat(10 * 1024 * 1024)));
      check(
        !/^HTTP 5/.test(seen),
        () => `sent a body of 10 MiB; got ${seen}; expected a refusal by the client's fault`,
      );
      return `sent a body of 10 MiB; got ${seen}, and answers to later requests`;
    },
  },
];
