import type { JsonObject } from "portolan";
import { expect } from "vitest";
import type { Requirement } from "../../requirement.ts";
import { jsonOf, textOf } from "../../results.ts";
import { capabilities, round, server, yes } from "./kit.ts";

const expiring = new URL("../../servers/expiring.mjs", import.meta.url);
const invalidState = { code: -32602, message: "Invalid or expired requestState: repeat the call without it" };

/** Request states and their bindings. */
export const states: readonly Requirement[] = [
  {
    row: "M4",
    says: "a retry with another id or progress token completes the call",
    async test(open) {
      const peer = await open({ server, capabilities });
      const { requestState } = (await peer.request("tools/call", { name: "confirm" }, "one")).result;
      const params = { name: "confirm", requestState, inputResponses: { sure: yes } };
      const done = await peer.request("tools/call", params, "two");
      expect(done).toMatchObject({
        id: "two",
        result: { resultType: "complete", content: [{ type: "text", text: "true" }] },
      });
      const progressed = await peer.request("tools/call", { ...params, _meta: { progressToken: "new" } }, "three");
      expect(progressed.result.resultType).toBe("complete");
    },
  },
  {
    row: "M5",
    says: "a call with a state only is retried with it until it completes",
    async test(open) {
      const peer = await open({ server, capabilities });
      let { result } = await round(peer, "explicit_steps");
      const states = new Set<string>();
      for (let step = 1; result.resultType === "input_required"; step += 1) {
        expect(result).not.toHaveProperty("inputRequests");
        expect(step).toBeLessThan(4);
        states.add(result.requestState);
        ({ result } = await round(peer, "explicit_steps", undefined, result.requestState));
      }
      expect(states.size).toBe(3);
      expect(result.content).toEqual([{ type: "text", text: "step 3" }]);
    },
  },
  {
    row: "M6",
    says: "each retry continues its own call",
    async test(open) {
      const peer = await open({ server, capabilities });
      const args = [{ message: "One?" }, { message: "Two?" }];
      const [one, two] = await Promise.all(args.map((each) => round(peer, "confirm", undefined, undefined, each)));
      expect(one.result.requestState).not.toBe(two.result.requestState);
      const crossed = await round(peer, "confirm", { sure: yes }, two.result.requestState, args[0]);
      expect(crossed.error).toEqual(invalidState);
      const fresh = await round(peer, "confirm", undefined, undefined, args[0]);
      expect(fresh.result.resultType).toBe("input_required");
      const [first, second] = await Promise.all([
        round(peer, "confirm", { sure: yes }, one.result.requestState, args[0]),
        round(peer, "confirm", { sure: { action: "decline" } }, two.result.requestState, args[1]),
      ]);
      expect([textOf(first), textOf(second)]).toEqual(["true", "false"]);
    },
  },
  {
    row: "M7",
    says: "a state with a changed byte, tool, arguments or method, or an expired one, is refused with the same error",
    async test(open) {
      const [peer, moment] = await Promise.all([
        open({ server, capabilities }),
        open({ server: expiring, capabilities }),
      ]);
      const args = { message: "Sure?" };
      const { requestState } = (await round(peer, "confirm", undefined, undefined, args)).result;
      const answers = { sure: yes };
      const refused = async (state: unknown, name = "confirm", given: JsonObject | undefined = args) =>
        expect((await round(peer, name, answers, state, given)).error, String(state)).toEqual(invalidState);
      const flips = Array.from({ length: requestState.length }, (_, at) => {
        const other = requestState[at] === "A" ? "B" : "A";
        return requestState.slice(0, at) + other + requestState.slice(at + 1);
      });
      await Promise.all(flips.map((flipped) => refused(flipped)));
      for (const state of [
        requestState.slice(0, -1),
        `${requestState}A`,
        "",
        "kept:x",
        "{}",
        requestState.toUpperCase(),
      ])
        await refused(state);
      await refused(requestState, "other");
      await refused(requestState, "confirm", { message: "Else?" });
      await refused(requestState, "confirm", { ...args, more: 1 });
      await refused(requestState, "confirm", {});
      const read = await peer.request("resources/read", { uri: "doc:asks", requestState, inputResponses: answers });
      expect(read.error).toEqual(invalidState);
      expect(textOf(await round(peer, "confirm", answers, requestState, args))).toBe("true");

      const short = (await round(moment, "confirm")).result.requestState;
      const asked = Date.now();
      while (Date.now() <= asked + 10) await moment.settled();
      expect((await round(moment, "confirm", answers, short)).error).toEqual(invalidState);
    },
  },
  {
    row: "M9",
    says: "after 200 abandoned calls the server still answers and closes",
    async test(open) {
      const peer = await open({ server, capabilities });
      for (const name of ["confirm", "parked"]) {
        await Promise.all(Array.from({ length: 100 }, () => round(peer, name)));
      }
      expect(textOf(await peer.callTool("reads"))).toBe("read");
      // Closing waits for the end of the process; a parked handler must not keep it running.
      await peer.close();
      expect(peer.isClosed).toBe(true);
    },
  },
  {
    row: "XM8",
    says: "an invalid state is -32602 for every tool, prompt and resource, and runs no handler",
    async test(open) {
      const peer = await open({ server, capabilities });
      const { requestState } = (await round(peer, "confirm")).result;
      for (const name of ["reads", "confirm", "parked", "explicit"]) {
        const state = name === "confirm" ? "nonsense" : requestState;
        expect((await round(peer, name, { sure: yes }, state)).error).toEqual(invalidState);
        expect((await round(peer, name, undefined, state)).error).toEqual(invalidState);
      }
      expect(jsonOf(await peer.callTool("events"))).toEqual([]);
      expect((await peer.request("prompts/get", { name: "asks", requestState })).error).toEqual(invalidState);
      expect((await peer.request("resources/read", { uri: "doc:asks", requestState })).error).toEqual(invalidState);
    },
  },
  {
    row: "XM13",
    says: "a handle for a large state is bound and refused like any state",
    async test(open) {
      const peer = await open({ server, capabilities });
      const text = "x".repeat(100_000);
      const first = (await round(peer, "large")).result;
      const second = (await round(peer, "large", { text: { ...yes, content: { text } } }, first.requestState)).result;
      expect(second.inputRequests).toHaveProperty("sure");
      expect(second.requestState.length).toBeLessThan(1_000);
      const { requestState } = second;
      expect((await round(peer, "confirm", { sure: yes }, requestState)).error).toEqual(invalidState);
      expect((await round(peer, "large", { sure: yes }, `${requestState}0`)).error).toEqual(invalidState);
      expect((await round(peer, "large", { sure: yes }, requestState, { other: 1 })).error).toEqual(invalidState);
      expect(jsonOf(await round(peer, "large", { sure: yes }, requestState))).toEqual({ length: 100_000, sure: true });
    },
  },
];
