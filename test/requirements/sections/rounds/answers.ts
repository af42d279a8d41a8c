import { expect } from "vitest";
import type { Requirement } from "../../requirement.ts";
import { accepting, jsonOf, members, textOf } from "../../results.ts";
import { capabilities, round, server, yes } from "./kit.ts";

/** Answers in a retry, and requests that are repeated. */
export const answers: readonly Requirement[] = [
  {
    row: "M8",
    says: "an answer with an unknown key is ignored, a malformed one is -32602",
    async test(open) {
      const peer = await open({ server, capabilities });
      const { requestState, inputRequests } = (await round(peer, "together")).result;
      const partly = (await round(peer, "together", { a: yes, unknown: { anything: 1 } }, requestState)).result;
      expect(partly.resultType).toBe("input_required");
      expect(partly.inputRequests).toEqual({ b: inputRequests.b, c: inputRequests.c });
      const rest = { b: accepting()({ method: "sampling/createMessage" }), c: { roots: [] } };
      expect(jsonOf(await round(peer, "together", rest, partly.requestState))).toEqual({ a: true, b: "Hello", c: [] });
      const none = (await round(peer, "together", {}, requestState)).result;
      expect(none.inputRequests).toEqual(inputRequests);
      // Restoring a long question takes longer than the turn in which a short one is sent.
      const large = (await round(peer, "large_question")).result;
      const small = (await round(peer, "large_question", { large: yes }, large.requestState)).result;
      expect(members(small.inputRequests)).toEqual(["small"]);
      for (const wrong of [
        5,
        "yes",
        null,
        [],
        {},
        { action: "perhaps" },
        { method: "elicitation/create", result: yes },
      ]) {
        const { error } = await round(peer, "confirm", { sure: wrong }, undefined);
        expect(error?.code, JSON.stringify(wrong)).toBe(-32602);
        expect(error?.message).not.toContain("\n");
      }
      for (const wrong of [5, "yes", []]) {
        expect((await round(peer, "explicit", { name: wrong })).error?.code, JSON.stringify(wrong)).toBe(-32602);
        expect((await peer.callTool("confirm", undefined, { inputResponses: wrong })).error?.code).toBe(-32602);
      }
      for (const state of [5, null, {}, ["x"]]) {
        expect((await round(peer, "confirm", { sure: yes }, state)).error?.code).toBe(-32602);
      }
    },
  },
  {
    row: "XM2",
    says: "each round has only new requests, and the state keeps earlier answers",
    async test(open) {
      const peer = await open({ server, capabilities });
      const first = (await round(peer, "in_turn")).result;
      expect(members(first.inputRequests)).toEqual(["first"]);
      const second = (await round(peer, "in_turn", { first: { action: "decline" } }, first.requestState)).result;
      expect(members(second.inputRequests)).toEqual(["second"]);
      const last = await round(peer, "in_turn", { second: { ...yes, content: { name: "Ada" } } }, second.requestState);
      expect(jsonOf(last)).toMatchObject({ first: false, second: { action: "accept", content: { name: "Ada" } } });
      // A later round cannot change an answer of an earlier one.
      const again = await round(
        peer,
        "in_turn",
        { first: yes, second: { ...yes, content: { name: "Ada" } } },
        second.requestState,
      );
      expect(jsonOf(again)).toMatchObject({ first: false });
    },
  },
  {
    row: "XM6",
    says: "an answer to a question whose text has changed is requested again, also two rounds later",
    async test(open) {
      const peer = await open({ server, capabilities });
      const first = (await round(peer, "changing")).result;
      expect(first.inputRequests.pay.params.message).toBe("Pay 1?");
      const second = (await round(peer, "changing", { pay: yes }, first.requestState)).result;
      expect(second).toMatchObject({
        resultType: "input_required",
        inputRequests: { pay: { params: { message: "Pay 2?" } } },
      });
      const other = await open({ server, capabilities });
      const one = (await round(other, "changes_earlier")).result;
      const two = (await round(other, "changes_earlier", { pay: yes }, one.requestState)).result;
      expect(members(two.inputRequests)).toEqual(["send"]);
      const three = (await round(other, "changes_earlier", { send: yes }, two.requestState)).result;
      expect(three.inputRequests.pay.params.message).toBe("Pay 200?");
      const four = (await round(other, "changes_earlier", { pay: { action: "decline" } }, three.requestState)).result;
      expect(four.inputRequests ?? four.content).toMatchObject({ send: {} });
      const five = await round(other, "changes_earlier", { send: yes }, four.requestState);
      expect(jsonOf(five)).toEqual({ paid: false, sent: true });
    },
  },
  {
    row: "XM7",
    says: "the first request may have answers, but no consent; answers with wrong keys are requested again",
    async test(open) {
      const peer = await open({ server, capabilities });
      const ada = { ...yes, content: { name: "Ada" } };
      expect(jsonOf(await round(peer, "person", { person: ada }))).toEqual(ada);
      expect((await round(peer, "confirm", { sure: yes })).result).toMatchObject({
        resultType: "input_required",
        inputRequests: { sure: {} },
      });
      expect((await round(peer, "confirm", { other: yes })).result).toMatchObject({
        resultType: "input_required",
        inputRequests: { sure: {} },
      });
      expect(textOf(await round(peer, "reads", { unasked: yes }))).toBe("read");
      expect((await round(peer, "explicit", { name: ada })).result).toMatchObject({
        resultType: "input_required",
        inputRequests: { name: {} },
      });
    },
  },
];
