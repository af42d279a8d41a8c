import { expect } from "vitest";
import { isStateless } from "../../../kit/revisions.ts";
import { beginFixture } from "../../begin-fixture.ts";
import { createFixture } from "../../fixture.ts";
import { start } from "../../kit.ts";
import { open } from "../../peer.ts";
import type { HttpRequirement } from "../requirement.ts";

const form = { elicitation: {} };

/** Cancelled requests and clients that disconnect. */
export const cancelling: readonly HttpRequirement[] = [
  {
    row: "E10",
    says: "a disconnect cancels a stateless request and not a request in a session",
    async test(revision) {
      const fixture = createFixture();
      const { url } = await start(fixture.server, { quietMs: 1 });
      const peer = await open(url, revision);
      const answer = await peer.call("hold", { key: "a" });
      answer.drop();
      await answer.closed;
      if (isStateless(revision)) {
        await fixture.noted("aborted a");
        return;
      }
      expect(await peer.textOf("echo", { text: "still there" })).toBe("still there");
      fixture.release("a");
      expect(await peer.textOf("echo", { text: "and later" })).toBe("and later");
      expect(fixture.journal).toEqual(["holding a"]);
    },
  },
  {
    row: "E10",
    says: "a disconnect before the stream opens cancels the request",
    on: ["2026-07-28"],
    async test(revision) {
      const fixture = createFixture();
      const { url } = await start(fixture.server);
      const peer = await open(url, revision);
      const gone = new AbortController();
      const lost = peer.call("hold", { key: "a" }, 1, {}, gone.signal).catch((error: Error) => error.name);
      await fixture.noted("holding a");
      gone.abort();
      expect(await lost).toBe("AbortError");
      await fixture.noted("aborted a");
    },
  },
  {
    row: "X-cancel",
    says: "a cancelled request aborts its handler, and its stream ends without a response",
    async test(revision) {
      const { fixture, peer } = await beginFixture(revision, { quietMs: 1 });
      const answer = await peer.call("hold", { key: "a" }, 0);
      expect((await peer.cancel(0)).status).toBe(202);
      await fixture.noted("aborted a");
      expect(await answer.messages()).toEqual([]);
    },
  },
  {
    row: "X-cancel",
    says: "a cancelled request whose stream is not open yet gets an answer without a result",
    async test(revision) {
      const { fixture, peer } = await beginFixture(revision);
      const answer = peer.call("hold", { key: "a" }, "");
      await fixture.noted("holding a");
      await peer.cancel("");
      await fixture.noted("aborted a");
      expect((await (await answer).text()).includes('"result"')).toBe(false);
    },
  },
  {
    row: "X-cancel",
    says: "cancelling a call cancels its open request to the client",
    on: ["2025-06-18", "2025-11-25"],
    async test(revision) {
      const { peer } = await beginFixture(revision, {}, { capabilities: form });
      const answer = await peer.call("ask", {}, "call");
      const question = await answer.message();
      await peer.cancel("call");
      const rest = await answer.messages();
      expect(rest).toMatchObject([{ method: "notifications/cancelled", params: { requestId: question.id } }]);
    },
  },
  {
    row: "X-cancel",
    says: "the other members of a batch are answered when one is cancelled",
    on: ["2025-03-26"],
    async test(revision) {
      const { fixture, peer } = await beginFixture(revision);
      const call = (id: string) => ({
        jsonrpc: "2.0",
        id,
        method: "tools/call",
        params: { name: "hold", arguments: { key: id } },
      });
      const answer = peer.post([call("a"), call("b")]);
      await fixture.noted("holding b");
      await peer.cancel("a");
      await fixture.noted("aborted a");
      fixture.release("b");
      const responses = [await (await answer).json()].flat();
      expect(responses).toMatchObject([{ id: "b" }]);
    },
  },
  {
    row: "X-cancel",
    says: "a batch whose members are all cancelled is answered without responses",
    on: ["2025-03-26"],
    async test(revision) {
      const { fixture, peer } = await beginFixture(revision);
      const hold = { name: "hold", arguments: { key: "a" } };
      const answer = peer.post([{ jsonrpc: "2.0", id: 1, method: "tools/call", params: hold }]);
      await fixture.noted("holding a");
      await peer.cancel(1);
      await fixture.noted("aborted a");
      expect((await (await answer).text()).includes('"result"')).toBe(false);
    },
  },
];
