import { expect } from "vitest";
import { stateful } from "../../../kit/revisions.ts";
import { beginFixture } from "../../begin-fixture.ts";
import { createFixture } from "../../fixture.ts";
import { start } from "../../kit.ts";
import { begin, textOf } from "../../peer.ts";
import type { HttpRequirement } from "../requirement.ts";

const priming = "2025-11-25";
const form = { elicitation: {} };

/** Streams: their first event, their messages, and their end with the session. */
export const streams: readonly HttpRequirement[] = [
  {
    row: "E8",
    says: "a stream begins with an event without data, only on the revision that defines it",
    async test(revision) {
      const { peer } = await beginFixture(revision);
      const posted = await (await peer.call("steps")).event();
      const got = await peer.get();
      if (revision === priming) {
        for (const first of [posted, await got.event()])
          expect([first?.data, first?.id]).toEqual(["", expect.stringMatching(/./)]);
        return;
      }
      expect(JSON.parse(posted!.data)).toMatchObject({ method: "notifications/progress" });
    },
  },
  {
    row: "E9",
    says: "the first event of a stream has a retry time",
    async test(revision) {
      const { peer } = await beginFixture(revision);
      for (const answer of [await peer.call("steps"), await peer.get()]) {
        expect(Number((await answer.event())?.retry)).toBeGreaterThan(0);
      }
    },
  },
  {
    row: "E11",
    says: "the GET stream carries changes and nothing that relates to a request",
    async test(revision) {
      const { server, peer } = await beginFixture(revision);
      const stream = await peer.get();
      expect(stream.isStream).toBe(true);
      const answer = await peer.call("progress");
      expect(await answer.messages()).toHaveLength(4);
      server.update((current) => current.tool("grown", { run: () => "new" }));
      expect((await stream.message()).method).toBe("notifications/tools/list_changed");
    },
  },
  {
    row: "E11",
    says: "the GET stream carries updates of subscribed resources only",
    async test(revision) {
      const { server, peer } = await beginFixture(revision);
      const stream = await peer.get();
      await (await peer.request("resources/subscribe", { uri: "note://1" })).json();
      server.publish("resources/updated", { uri: "note://1" });
      expect(await stream.message()).toMatchObject({
        method: "notifications/resources/updated",
        params: { uri: "note://1" },
      });
      await (await peer.request("resources/unsubscribe", { uri: "note://1" })).json();
      server.publish("resources/updated", { uri: "note://1" });
      server.update((current) => current.tool("grown", { run: () => "new" }));
      expect((await stream.message()).method).toBe("notifications/tools/list_changed");
    },
  },
  {
    row: "E11",
    says: "a stream that opens after a subscription carries its updates",
    async test(revision) {
      const { server, peer } = await beginFixture(revision);
      await (await peer.request("resources/subscribe", { uri: "note://1" })).json();
      const stream = await peer.get();
      await peer.textOf("echo", { text: "one round trip" });
      server.publish("resources/updated", { uri: "note://1" });
      expect((await stream.message()).params).toMatchObject({ uri: "note://1" });
    },
  },
  {
    row: "E12",
    says: "a change is sent once to each session, and no message on two streams",
    async test(revision) {
      const { server } = createFixture();
      const { url } = await start(server);
      const [one, other] = [await begin(url, revision), await begin(url, revision)];
      const streams = [await one.get(), await other.get()];
      server.update((current) => current.tool("grown", { run: () => "new" }));
      server.update((current) => current.prompt("grown", { get: () => "new" }));
      for (const stream of streams) {
        const methods = [(await stream.message()).method, (await stream.message()).method];
        expect(methods.sort()).toEqual(["notifications/prompts/list_changed", "notifications/tools/list_changed"]);
      }
      expect(await (await one.call("progress")).messages()).toHaveLength(4);
    },
  },
  {
    row: "E12",
    says: "a request to the client is sent on the stream of its call, also while a GET stream is open",
    on: ["2025-06-18", "2025-11-25"],
    async test(revision) {
      const { peer } = await beginFixture(revision, {}, { capabilities: form });
      await peer.get();
      const answer = await peer.call("ask");
      const question = await answer.message();
      expect(question.method).toBe("elicitation/create");
      await peer.answer(question.id, { action: "accept", content: { name: "Ada" } });
      expect(textOf(await answer.message())).toBe("Hello Ada");
    },
  },
  {
    row: "E18",
    says: "DELETE ends the session, its stream and its calls",
    on: stateful,
    async test(revision) {
      const { fixture, peer } = await beginFixture(revision, { quietMs: 1 });
      const stream = await peer.get();
      const answer = await peer.call("hold", { key: "a" });
      const deleted = await peer.delete();
      expect([deleted.status, await deleted.text()]).toEqual([204, ""]);
      await fixture.noted("aborted a");
      expect(await stream.messages()).toEqual([]);
      expect(await answer.messages()).toEqual([]);
      for (const again of [peer.request("ping"), peer.get(), peer.delete()]) expect((await again).status).toBe(404);
    },
  },
];
