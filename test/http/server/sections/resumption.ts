import { expect } from "vitest";
import { stateful } from "../../../kit/revisions.ts";
import { beginFixture } from "../../begin-fixture.ts";
import { createFixture } from "../../fixture.ts";
import { type Answer, start } from "../../kit.ts";
import { begin, StatelessPeer, textOf } from "../../peer.ts";
import type { HttpRequirement } from "../requirement.ts";

const priming = ["2025-11-25"] as const;

/** The id and data of the next event with a message. */
async function eventOf(answer: Answer): Promise<{ id: string; data: string }> {
  const { id, data } = await answer.messageEvent();
  return { id: String(id), data };
}

export const resumption: readonly HttpRequirement[] = [
  {
    row: "E13",
    says: "every event has an id, and none is used twice in a session",
    on: stateful,
    async test(revision) {
      const { peer } = await beginFixture(revision);
      const ids = [];
      for (const answer of await Promise.all([peer.call("steps", {}, 1), peer.call("steps", {}, 2)])) {
        for (let event = await answer.event(); event; event = await answer.event()) ids.push(event.id);
      }
      expect(ids.length).toBeGreaterThanOrEqual(8);
      expect(new Set(ids).size).toBe(ids.length);
      expect(ids).not.toContain(undefined);
    },
  },
  {
    row: "E13",
    says: "events have no ids",
    on: ["2026-07-28"],
    async test() {
      const { url } = await start(createFixture().server);
      const answer = await new StatelessPeer(url).call("progress");
      for (let event = await answer.event(); event; event = await answer.event()) {
        expect([event.id, event.retry]).toEqual([undefined, undefined]);
      }
    },
  },
  {
    row: "E13",
    says: "a stream that is sent completely at once has no event ids, as it needs no resumption",
    on: stateful,
    async test(revision) {
      const { peer } = await beginFixture(revision);
      const answer = await peer.call("progress");
      const events = [];
      for (let event = await answer.event(); event; event = await answer.event()) events.push(event);
      expect(events.map(({ id, retry }) => [id, retry])).toEqual(Array(4).fill([undefined, undefined]));
      expect(textOf(JSON.parse(String(events[3]?.data)))).toBe("done");
    },
  },
  {
    row: "E14",
    says: "a resumed stream has the missed messages, then the new ones, the response last",
    on: stateful,
    async test(revision) {
      const { fixture, peer } = await beginFixture(revision, { quietMs: 1 });
      const answer = await peer.call("hold", { key: "a" });
      fixture.step("a");
      const { id, data } = await eventOf(answer);
      expect(JSON.parse(data).params.progress).toBe(1);
      answer.drop();
      await answer.closed;
      fixture.step("a");
      const resumed = await peer.get(id);
      expect((await resumed.message()).params.progress).toBe(2);
      fixture.step("a");
      expect((await resumed.message()).params.progress).toBe(3);
      fixture.release("a");
      expect(textOf(await resumed.message())).toBe("released a");
      expect(await resumed.event()).toBeUndefined();
    },
  },
  {
    row: "E14",
    says: "a stream that is resumed after its end replays the rest at once",
    on: stateful,
    async test(revision) {
      const { peer } = await beginFixture(revision);
      const answer = await peer.call("steps");
      const { id } = await eventOf(answer);
      await answer.messages();
      const resumed = await (await peer.get(id)).messages();
      expect(resumed.map(({ params }) => params?.progress)).toEqual([2, 3, undefined]);
      expect(textOf(resumed[2]!)).toBe("done");
    },
  },
  {
    row: "E14",
    says: "replayed events keep their ids",
    on: stateful,
    async test(revision) {
      const { peer } = await beginFixture(revision);
      const answer = await peer.call("steps");
      const { id } = await eventOf(answer);
      const first = [await eventOf(answer), await eventOf(answer), await eventOf(answer)];
      const resumed = await peer.get(id);
      expect([await eventOf(resumed), await eventOf(resumed), await eventOf(resumed)]).toEqual(first);
    },
  },
  {
    row: "E14",
    says: "a stream can be resumed from its first event",
    on: priming,
    async test(revision) {
      const { fixture, peer } = await beginFixture(revision, { quietMs: 1 });
      const answer = await peer.call("hold", { key: "a" });
      const first = await answer.event();
      answer.drop();
      fixture.release("a");
      const resumed = await peer.get(first?.id);
      expect(textOf(await resumed.message())).toBe("released a");
    },
  },
  {
    row: "E9",
    says: "a handler may close the connection, and the client resumes the stream",
    on: priming,
    async test(revision) {
      const { peer } = await beginFixture(revision);
      const answer = await peer.call("patience");
      const first = await answer.event();
      expect([first?.data, Number(first?.retry) > 0]).toEqual(["", true]);
      expect(await answer.event()).toBeUndefined();
      const rest = await (await peer.get(first?.id)).messages();
      expect(rest.map(({ method }) => method)).toEqual(["notifications/progress", undefined]);
      expect(textOf(rest[1]!)).toBe("worth it");
    },
  },
  {
    row: "E14",
    says: "hangUp has no effect on revisions without the first event for resumption",
    on: stateful.filter((revision) => revision !== "2025-11-25"),
    async test(revision) {
      const { peer } = await beginFixture(revision);
      expect(textOf((await (await peer.call("patience")).messages()).at(-1)!)).toBe("worth it");
    },
  },
  {
    row: "E14",
    says: "only the stream of the event is replayed",
    on: stateful,
    async test(revision) {
      const { peer } = await beginFixture(revision);
      const answers = [await peer.call("steps", {}, "a"), await peer.call("steps", {}, "b")];
      const { id } = await eventOf(answers[0]!);
      await Promise.all(answers.map((answer) => answer.messages()));
      const replayed = await (await peer.get(id)).messages();
      expect(replayed.map((said) => said.id ?? said.params.progressToken)).toEqual(["token a", "token a", "a"]);
    },
  },
  {
    row: "E14",
    says: "events of another session are not replayed",
    on: stateful,
    async test(revision) {
      const { url } = await start(createFixture().server);
      const [peer, other] = [await begin(url, revision), await begin(url, revision)];
      const answer = await peer.call("steps");
      const { id } = await eventOf(answer);
      await answer.messages();
      const stolen = await other.get(id);
      expect(stolen.status === 200 ? await stolen.messages() : []).toEqual([]);
    },
  },
  {
    row: "E14",
    says: "an unknown event id is refused, or its stream ends at once",
    on: priming,
    async test(revision) {
      const { peer } = await beginFixture(revision);
      for (const id of ["nonsense", "", "_", "never-was_1", "never-was_"]) {
        const answer = await peer.get(id);
        expect([id, answer.status === 200 ? await answer.messages() : []]).toEqual([id, []]);
      }
    },
  },
  {
    row: "E14",
    says: "an event id with an invalid position is answered 400, and the server continues",
    on: priming,
    async test(revision) {
      const { peer } = await beginFixture(revision);
      const answer = await peer.call("steps");
      const { id } = await eventOf(answer);
      await answer.messages();
      const odd = await peer.get(`${id.slice(0, id.indexOf("_"))}_no-number`);
      expect(odd.status).toBe(400);
      expect(await peer.textOf("echo", { text: "alive" })).toBe("alive");
    },
  },
  {
    row: "E14",
    says: "a resumed GET stream replays the missed messages and continues",
    on: stateful,
    async test(revision) {
      const { server, peer } = await beginFixture(revision);
      const stream = await peer.get();
      server.update((current) => current.tool("one", { run: () => "new" }));
      const { id } = await eventOf(stream);
      server.update((current) => current.prompt("two", { get: () => "new" }));
      expect((await stream.message()).method).toBe("notifications/prompts/list_changed");
      stream.drop();
      const resumed = await peer.get(id);
      expect((await resumed.message()).method).toBe("notifications/prompts/list_changed");
      server.update((current) => current.tool("three", { run: () => "new" }));
      expect((await resumed.message()).method).toBe("notifications/tools/list_changed");
    },
  },
  {
    row: "E14",
    says: "Last-Event-ID is ignored",
    on: ["2026-07-28"],
    async test() {
      const { url } = await start(createFixture().server);
      const peer = new StatelessPeer(url);
      const answer = await peer.call("echo", { text: "hi" }, 1, { "last-event-id": "get_1" });
      expect(textOf(await answer.json())).toBe("hi");
    },
  },
];
