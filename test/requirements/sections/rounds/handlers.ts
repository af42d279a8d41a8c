import { expect } from "vitest";
import type { Requirement } from "../../requirement.ts";
import { accepting, type Entry, jsonOf, members, textOf } from "../../results.ts";
import { capabilities, round, server, yes } from "./kit.ts";

/** Handlers over several rounds. */
export const handlers: readonly Requirement[] = [
  {
    row: "XM3",
    says: "an effect in once happens once, also while a question suspends the handler",
    async test(open) {
      const peer = await open({ server, capabilities, answer: accepting({ name: "Ada" }) });
      const done = jsonOf(await peer.callTool("in_turn"));
      expect(done).toMatchObject({ once: { at: "1970-01-01T00:00:00.000Z", n: 1 }, isDate: false, nothing: "nothing" });
      expect(done.once).not.toHaveProperty("missing");
      const slow = peer.callTool("slow_once");
      await peer.settled();
      await peer.callTool("open_gate", { name: "slow" });
      expect(jsonOf(await slow)).toEqual({ n: 2, sure: true, effects: 2 });
      expect(jsonOf(await peer.callTool("explicit"))).toMatchObject({ n: 3, effects: 3 });
      // A failed effect has no result, so it is retried.
      expect(textOf(await peer.callTool("failing_once"))).toBe("done");
      expect(jsonOf(await peer.callTool("events")).filter((event: string) => event === "no")).toHaveLength(2);
    },
  },
  {
    row: "XM4",
    says: "a repeated key of a question or of once fails the call, and the reported error names it",
    async test(open) {
      const peer = await open({ server, capabilities, answer: accepting() });
      for (const name of ["twice", "once_twice"])
        expect((await peer.callTool(name)).result).toMatchObject({ isError: true });
      expect(jsonOf(await peer.callTool("errors"))).toMatchObject([
        { code: "question-repeated", message: 'The question key "same" was used twice in one call; keys must differ' },
        { code: "question-repeated", message: 'The once key "same" was used twice in one call; keys must differ' },
      ]);
    },
  },
  {
    row: "XM5",
    says: "a handler that continues after asking fails the call, or is reported later if the question was already sent",
    async test(open) {
      const peer = await open({ server, capabilities });
      const { error, result } = await round(peer, "swallows");
      expect(result).toBeUndefined();
      expect(error?.code).toBe(-32603);
      const reported = jsonOf(await peer.callTool("errors"));
      expect(reported).toHaveLength(1);
      expect(reported[0]).toMatchObject({ code: "invalid-definition", method: "tools/call" });
      expect(reported[0].message).toContain("although the client is being asked");
      expect(reported[0].message).not.toContain("\n");
      expect(error?.message).toContain(reported[0].reference);

      for (const name of ["swallows_late", "fails_late"]) {
        expect((await round(peer, name)).result.resultType).toBe("input_required");
      }
      await peer.callTool("open_gate", { name: "late" });
      await peer.settled();
      expect(jsonOf(await peer.callTool("events"))).toEqual(["ended", "ended"]);
      let late: Entry[] = [];
      while (late.length === 0) late = jsonOf(await peer.callTool("errors")).slice(1);
      expect(late).toHaveLength(1);
      expect(late[0].message).toContain("although the client is being asked");
      expect(peer.strays).toEqual([]);
      expect(textOf(await peer.callTool("reads"))).toBe("read");
    },
  },
  {
    row: "XM9",
    says: "each state of a parked handler is valid once; a wrong answer leaves the handler waiting",
    async test(open) {
      const peer = await open({ server, capabilities });
      const first = (await round(peer, "parked")).result;
      expect(members(first.inputRequests)).toEqual(["first"]);
      const bad = await round(peer, "parked", { first: { action: "perhaps" } }, first.requestState);
      expect(bad.error).toMatchObject({ code: -32602 });
      const second = (
        await peer.callTool("parked", undefined, {
          inputResponses: { first: yes },
          requestState: first.requestState,
          _meta: { progressToken: "p" },
        })
      ).result;
      expect(members(second.inputRequests)).toEqual(["second"]);
      expect(peer.notifications.map(({ params }) => params)).toEqual([{ progressToken: "p", progress: 1 }]);
      const replayed = await round(peer, "parked", { first: yes }, first.requestState);
      expect(replayed.error).toMatchObject({ code: -32602, message: expect.stringContaining("not run again") });
      const answers = { second: { ...yes, content: { name: "Ada" } } };
      const racing = await Promise.all([
        round(peer, "parked", answers, second.requestState),
        round(peer, "parked", answers, second.requestState),
      ]);
      expect(racing.filter(({ error }) => error)).toHaveLength(1);
      expect(racing.map(({ result }) => result?.content?.[0].text).filter((text) => text)).toEqual([
        JSON.stringify({ name: "parked", first: true, second: { action: "accept", content: { name: "Ada" } } }),
      ]);
      expect((await round(peer, "parked", answers, second.requestState)).error).toMatchObject({ code: -32602 });
      expect(jsonOf(await peer.callTool("events"))).toEqual(["run parked"]);
      // With one of two answers, the other is requested again with a new state.
      const both = (await round(peer, "parked_together")).result;
      const half = (await round(peer, "parked_together", { a: yes }, both.requestState)).result;
      expect(members(half.inputRequests)).toEqual(["b"]);
      expect(jsonOf(await round(peer, "parked_together", { b: { action: "decline" } }, half.requestState))).toEqual([
        true,
        false,
      ]);
    },
  },
  {
    row: "XM11",
    says: "a suspended handler sends no progress or log and has no effects; its signal is aborted",
    async test(open) {
      const peer = await open({ server, capabilities });
      const _meta = { progressToken: "p", "io.modelcontextprotocol/logLevel": "debug" };
      const { result } = await peer.callTool("speaks_after_stop", undefined, { _meta });
      expect(result.resultType).toBe("input_required");
      await peer.settled();
      expect(
        peer.notifications.map(({ method, params }) => [method, params?.["progress"] ?? params?.["data"]]),
      ).toEqual([
        ["notifications/progress", 1],
        ["notifications/message", "before"],
      ]);
      expect(jsonOf(await peer.callTool("events"))).toEqual(["aborted true", "once: SuspendError"]);
    },
  },
  {
    row: "XM12",
    says: "a call of many rounds is reported once, with advice",
    async test(open) {
      const peer = await open({ server, capabilities });
      let { result } = await round(peer, "for_ever");
      for (let n = 0; n < 12; n += 1)
        ({ result } = await round(peer, "for_ever", { [`q${n}`]: yes }, result.requestState));
      expect(result.resultType).toBe("input_required");
      const reported = jsonOf(await peer.callTool("errors"));
      expect(reported).toHaveLength(1);
      expect(reported[0]).toMatchObject({ code: "limit-reached", message: expect.stringContaining("ask together") });
    },
  },
];
