import { createMemoryPair, type JsonObject } from "portolan";
import { serveChannel } from "portolan/server";
import { expect } from "vitest";
import { type ChildChannel, RawPeer } from "../../kit/raw-peer.ts";
import type { Requirement } from "../requirement.ts";
import { accepting, type Entry, jsonOf, members, textOf } from "../results.ts";

const server = new URL("../servers/asking.mjs", import.meta.url);
const expiring = new URL("../servers/expiring.mjs", import.meta.url);
const capabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
const yes = { action: "accept" };
const subscriptionId = "io.modelcontextprotocol/subscriptionId";
const invalidState = { code: -32602, message: "Invalid or expired requestState: repeat the call without it" };

/** One round of a call by hand. */
async function round(
  peer: RawPeer,
  name: string,
  answers?: JsonObject,
  requestState?: unknown,
  args?: JsonObject,
): Promise<Entry> {
  const retry = {
    ...(answers && { inputResponses: answers }),
    ...(requestState !== undefined && { requestState }),
  };
  return peer.callTool(name, args, retry);
}

/** Opens a subscription and waits for its acknowledgement. */
async function listen(peer: RawPeer, id: string | number, notifications: JsonObject): Promise<Entry> {
  peer.send({ jsonrpc: "2.0", id, method: "subscriptions/listen", params: peer.describe({ notifications }) });
  const isMine = (params: Entry) => params?._meta?.[subscriptionId] === id;
  return peer.notification("notifications/subscriptions/acknowledged", isMine);
}

/** What came on a subscription after its acknowledgement. */
function heardOn(peer: RawPeer, id: unknown): Entry[] {
  const mine = peer.notifications.filter(({ params }) => (params as Entry)?._meta?.[subscriptionId] === id);
  return mine.slice(1).map(({ method, params }) => [method.replace("notifications/", ""), params]);
}

/** Requirements on multi round trips and subscriptions. */
export const rounds: readonly Requirement[] = [
  {
    row: "M1",
    says: "the three may ask; lists and completion do not even when a handler tries",
    async test(open) {
      const peer = await open({ server, capabilities });
      const may = [
        await peer.callTool("confirm"),
        await peer.request("resources/read", { uri: "doc:asks" }),
        await peer.request("prompts/get", { name: "asks" }),
      ];
      for (const { result } of may) expect(result.resultType).toBe("input_required");
      const mayNot = [
        await peer.request("resources/list"),
        await peer.request("completion/complete", {
          ref: { type: "ref/resource", uri: "doc:t/{id}" },
          argument: { name: "id", value: "" },
        }),
        await peer.request("tools/list", { inputResponses: {}, requestState: "x" }),
        await peer.request("server/discover", { inputResponses: {}, requestState: "x" }),
      ];
      for (const { result } of mayNot) expect(result?.resultType).not.toBe("input_required");
      expect(mayNot[2]?.result.resultType).toBe("complete");
    },
  },
  {
    row: "M2",
    says: "questions are bare, the state is a text",
    async test(open) {
      const peer = await open({ server, capabilities });
      const { result } = await round(peer, "together");
      expect(members(result)).toEqual(["inputRequests", "requestState", "resultType"]);
      expect(typeof result.requestState).toBe("string");
      expect(result.inputRequests).toEqual({
        a: {
          method: "elicitation/create",
          params: { mode: "form", message: "A?", requestedSchema: { type: "object", properties: {} } },
        },
        b: {
          method: "sampling/createMessage",
          params: { messages: [{ role: "user", content: { type: "text", text: "B" } }], maxTokens: 5 },
        },
        c: { method: "roots/list" },
      });
      expect(peer.questions).toEqual([]);
      const page = (await round(peer, "visit", undefined, undefined, { url: "https://example.com/" })).result
        .inputRequests.v;
      expect(page).toEqual({
        method: "elicitation/create",
        params: { mode: "url", message: "Log in", url: "https://example.com/" },
      });
      const state = (await round(peer, "explicit_steps")).result;
      expect(members(state)).toEqual(["requestState", "resultType"]);
    },
  },
  {
    row: "M3",
    says: "capabilities are those of this very request",
    async test(open) {
      const peer = await open({ server, capabilities });
      const { requestState } = (await round(peer, "in_turn")).result;
      const declares = (declared: JsonObject) => ({
        _meta: { "io.modelcontextprotocol/clientCapabilities": declared },
      });
      const refused = [
        [await peer.callTool("confirm", {}, declares({})), { elicitation: { form: {} } }],
        [await peer.callTool("confirm", {}, declares({ elicitation: { url: {} } })), { elicitation: { form: {} } }],
        [
          await peer.callTool("visit", { url: "https://example.com" }, declares({ elicitation: {} })),
          { elicitation: { url: {} } },
        ],
        [await peer.callTool("roots", {}, declares({ sampling: {} })), { roots: {} }],
        [await peer.callTool("explicit_unable", {}, declares({ elicitation: {} })), { elicitation: { url: {} } }],
        [
          await peer.callTool("in_turn", undefined, { ...declares({}), requestState, inputResponses: { first: yes } }),
          { elicitation: { form: {} } },
        ],
      ] as const;
      for (const [{ error, result }, requiredCapabilities] of refused) {
        expect(result).toBeUndefined();
        expect(error).toMatchObject({ code: -32021, data: { requiredCapabilities } });
      }
    },
  },
  {
    row: "M4",
    says: "with another id and on another connection's turn, too",
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
    says: "retried with the state until it is done",
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
    says: "each retry goes on with its own call",
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
    says: "a flipped byte, another tool, other arguments, another method and an expired state are refused alike",
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
    row: "M8",
    says: "an answer under another key changes nothing, one of another shape is -32602",
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
      // Recalling a long question takes longer than the turn in which a short one is put.
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
    row: "M9",
    says: "hundreds of abandoned calls leave the server quick to end and to answer",
    async test(open) {
      const peer = await open({ server, capabilities });
      for (const name of ["confirm", "parked"]) {
        await Promise.all(Array.from({ length: 100 }, () => round(peer, name)));
      }
      expect(textOf(await peer.callTool("reads"))).toBe("read");
      // Closing waits for the process to end; a parked handler must not keep it.
      await peer.close();
      expect(peer.isClosed).toBe(true);
    },
  },
  {
    row: "M10",
    says: "a plain read is cacheable, the interim and the retried one are not",
    async test(open) {
      const peer = await open({ server, capabilities });
      expect((await peer.request("resources/read", { uri: "doc:plain" })).result).toMatchObject({
        ttlMs: 60_000,
        cacheScope: "public",
      });
      const { result } = await peer.request("resources/read", { uri: "doc:asks" });
      expect(members(result)).toEqual(["inputRequests", "requestState", "resultType"]);
      const retry = { uri: "doc:asks", requestState: result.requestState, inputResponses: { read: yes } };
      expect((await peer.request("resources/read", retry)).result).toMatchObject({
        resultType: "complete",
        ttlMs: 0,
        cacheScope: "private",
      });
    },
  },
  {
    row: "XM1",
    says: "in one interim result",
    async test(open) {
      const peer = await open({ server, capabilities });
      for (const [name, keys] of [
        ["together", ["a", "b", "c"]],
        ["siblings", ["a", "b", "c"]],
        ["made_then_awaited", ["a", "b"]],
        ["parked_together", ["a", "b"]],
      ] as const) {
        expect(members((await round(peer, name)).result.inputRequests), name).toEqual(keys);
      }
    },
  },
  {
    row: "XM2",
    says: "each round asks what is new, and the state carries the rest",
    async test(open) {
      const peer = await open({ server, capabilities });
      const first = (await round(peer, "in_turn")).result;
      expect(members(first.inputRequests)).toEqual(["first"]);
      const second = (await round(peer, "in_turn", { first: { action: "decline" } }, first.requestState)).result;
      expect(members(second.inputRequests)).toEqual(["second"]);
      const last = await round(peer, "in_turn", { second: { ...yes, content: { name: "Ada" } } }, second.requestState);
      expect(jsonOf(last)).toMatchObject({ first: false, second: { action: "accept", content: { name: "Ada" } } });
      // What an earlier round has settled is not open to a later one.
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
    row: "XM3",
    says: "also one that runs while the question stops the handler",
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
      // An effect that failed is no result: it is tried again.
      expect(textOf(await peer.callTool("failing_once"))).toBe("done");
      expect(jsonOf(await peer.callTool("events")).filter((event: string) => event === "no")).toHaveLength(2);
    },
  },
  {
    row: "XM4",
    says: "of a question or of once, and the operator hears which",
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
    says: "at once, or later when the question is out already",
    async test(open) {
      const peer = await open({ server, capabilities });
      const { error, result } = await round(peer, "swallows");
      expect(result).toBeUndefined();
      expect(error?.code).toBe(-32603);
      const heard = jsonOf(await peer.callTool("errors"));
      expect(heard).toHaveLength(1);
      expect(heard[0]).toMatchObject({ code: "invalid-definition", method: "tools/call" });
      expect(heard[0].message).toContain("went on after asking");
      expect(heard[0].message).not.toContain("\n");
      expect(error?.message).toContain(heard[0].reference);

      for (const name of ["swallows_late", "fails_late"]) {
        expect((await round(peer, name)).result.resultType).toBe("input_required");
      }
      await peer.callTool("open_gate", { name: "late" });
      await peer.settled();
      expect(jsonOf(await peer.callTool("events"))).toEqual(["ended", "ended"]);
      let late: Entry[] = [];
      while (late.length === 0) late = jsonOf(await peer.callTool("errors")).slice(1);
      expect(late).toHaveLength(1);
      expect(late[0].message).toContain("went on after asking");
      expect(peer.strays).toEqual([]);
      expect(textOf(await peer.callTool("reads"))).toBe("read");
    },
  },
  {
    row: "XM6",
    says: "neither in the next round nor two rounds later",
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
    says: "the first request may bring them; wrong keys are asked for again",
    async test(open) {
      const peer = await open({ server, capabilities });
      expect(textOf(await round(peer, "confirm", { sure: yes }))).toBe("true");
      expect((await round(peer, "confirm", { other: yes })).result).toMatchObject({
        resultType: "input_required",
        inputRequests: { sure: {} },
      });
      expect(textOf(await round(peer, "reads", { unasked: yes }))).toBe("read");
      expect(jsonOf(await round(peer, "explicit", { name: { ...yes, content: { name: "Ada" } } }))).toMatchObject({
        name: "Ada",
      });
    },
  },
  {
    row: "XM8",
    says: "also of a tool that asks nothing, and of one that would ask",
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
    row: "XM9",
    says: "its states are used up; a wrong answer leaves it waiting",
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
      // One of two answers: the other is asked for again, under a new state.
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
    row: "XM10",
    says: "the process lives, and nothing is reported",
    async test(open) {
      const peer = await open({ server, capabilities });
      for (const name of ["made_then_awaited", "siblings", "together", "parked_together"]) await round(peer, name);
      await peer.settled();
      expect(textOf(await peer.callTool("reads"))).toBe("read");
      expect(jsonOf(await peer.callTool("errors"))).toEqual([]);
    },
  },
  {
    row: "XM11",
    says: "no progress, no log, no effect; the signal is aborted",
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
      expect(jsonOf(await peer.callTool("events"))).toEqual(["aborted true", "once: Stop"]);
    },
  },
  {
    row: "XM12",
    says: "once, in the eighth round, with advice",
    async test(open) {
      const peer = await open({ server, capabilities });
      let { result } = await round(peer, "for_ever");
      for (let n = 0; n < 12; n += 1)
        ({ result } = await round(peer, "for_ever", { [`q${n}`]: yes }, result.requestState));
      expect(result.resultType).toBe("input_required");
      const heard = jsonOf(await peer.callTool("errors"));
      expect(heard).toHaveLength(1);
      expect(heard[0]).toMatchObject({ code: "limit-reached", message: expect.stringContaining("ask together") });
    },
  },
  {
    row: "XM13",
    says: "bound and refused like any state",
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
  {
    row: "U1",
    says: "it stays open, and a filter of wrong shape is refused",
    async test(open) {
      const peer = await open({ server });
      await listen(peer, "l", { toolsListChanged: true });
      await peer.settled();
      expect(peer.transcript.filter((line) => line.startsWith("< ") && line.includes('"id":"l"'))).toEqual([]);
      for (const notifications of [
        undefined,
        5,
        [],
        { toolsListChanged: "yes" },
        { resourceSubscriptions: "doc:plain" },
        { resourceSubscriptions: [5] },
      ]) {
        const { error } = await peer.request(
          "subscriptions/listen",
          notifications === undefined ? {} : { notifications },
        );
        expect(error?.code, JSON.stringify(notifications)).toBe(-32602);
        expect(error?.message).toContain("params.notifications");
      }
      const many = Array.from({ length: 1_001 }, (_, n) => `doc:t/${n}`);
      expect(
        (await peer.request("subscriptions/listen", { notifications: { resourceSubscriptions: many } })).error?.code,
      ).toBe(-32602);
    },
  },
  {
    row: "U2",
    says: "each type, and each resource, only where it was asked for",
    async test(open) {
      const peer = await open({ server });
      await listen(peer, 101, { promptsListChanged: true, toolsListChanged: false });
      await listen(peer, 102, { resourceSubscriptions: ["doc:plain"] });
      await listen(peer, 103, {});
      await peer.callTool("change", { what: ["tools", "resources"], uris: ["doc:other", "doc:plainer"] });
      await peer.settled();
      expect([101, 102, 103].flatMap((id) => heardOn(peer, id))).toEqual([]);
      await peer.callTool("change", { what: ["tools", "prompts", "resources"], uris: ["doc:plain", "doc:plain/part"] });
      await peer.settled();
      expect(heardOn(peer, 101).map(([method]) => method)).toEqual(["prompts/list_changed"]);
      expect(heardOn(peer, 102).map(([, params]) => params.uri)).toEqual(["doc:plain", "doc:plain/part"]);
      expect(heardOn(peer, 103)).toEqual([]);
    },
  },
  {
    row: "U3",
    says: "it names the part that can be kept, before anything else",
    async test(open) {
      const peer = await open({ server });
      const asked = {
        toolsListChanged: true,
        promptsListChanged: true,
        resourcesListChanged: false,
        resourceSubscriptions: ["doc:plain", "doc:t/1", "nowhere:x"],
        unknownChanged: true,
      };
      peer.send({
        jsonrpc: "2.0",
        id: "l",
        method: "subscriptions/listen",
        params: peer.describe({ notifications: asked }),
      });
      await peer.callTool("change", { uris: ["doc:plain"] });
      await peer.notification("notifications/subscriptions/acknowledged");
      await peer.callTool("change", { uris: ["doc:plain"] });
      await peer.settled();
      expect(heardOn(peer, "l").map(([method]) => method)).toContain("resources/updated");
      const [first] = peer.notifications;
      expect(first).toEqual({
        jsonrpc: "2.0",
        method: "notifications/subscriptions/acknowledged",
        params: {
          _meta: { [subscriptionId]: "l" },
          notifications: {
            toolsListChanged: true,
            promptsListChanged: true,
            resourceSubscriptions: ["doc:plain", "doc:t/1"],
          },
        },
      });
      const bare = await open({ server: new URL("../servers/bare.mjs", import.meta.url) });
      const ack = await listen(bare, "b", { toolsListChanged: true, resourceSubscriptions: ["doc:plain"] });
      expect(ack.params.notifications).toEqual({});
    },
  },
  {
    row: "U4",
    says: "numbers stay numbers, texts stay texts",
    async test(open) {
      const peer = await open({ server });
      for (const id of [700, "700", 0]) await listen(peer, id, { toolsListChanged: true });
      await peer.callTool("change");
      await peer.settled();
      const tags = peer.notifications
        .filter(({ method }) => method === "notifications/tools/list_changed")
        .map(({ params }) => (params as Entry)._meta[subscriptionId]);
      expect(tags).toHaveLength(3);
      expect(tags).toEqual(expect.arrayContaining([700, "700", 0]));
      for (const { params } of peer.notifications) expect((params as Entry)._meta).toHaveProperty([subscriptionId]);
    },
  },
  {
    row: "U5",
    says: "ending one leaves the other",
    async test(open) {
      const peer = await open({ server });
      await listen(peer, "tools", { toolsListChanged: true });
      await listen(peer, "prompts", { promptsListChanged: true });
      await peer.callTool("change", { what: ["tools", "prompts"] });
      await peer.settled();
      expect(heardOn(peer, "tools").map(([method]) => method)).toEqual(["tools/list_changed"]);
      expect(heardOn(peer, "prompts").map(([method]) => method)).toEqual(["prompts/list_changed"]);
      peer.notify("notifications/cancelled", { requestId: "tools" });
      await peer.callTool("change", { what: ["tools", "prompts"] });
      await peer.settled();
      expect(heardOn(peer, "tools")).toHaveLength(1);
      expect(heardOn(peer, "prompts")).toHaveLength(2);
    },
  },
  {
    row: "U6",
    says: "the result comes before the notice, both tagged",
    async test(open, { revision, transport }) {
      const peer = transport === "stdio" ? await open({ server }) : undefined;
      const [near, far] = createMemoryPair({ serialize: true });
      const serving = peer ? undefined : serveChannel((await import(server.href)).default(), far);
      const listening = peer ?? new RawPeer(near, { revision });
      await listen(listening, "gone", { toolsListChanged: true });
      listening.notify("notifications/cancelled", { requestId: "gone", reason: "enough" });
      await listen(listening, "stays", { toolsListChanged: true });
      await listening.callTool("change");
      await listening.settled();
      expect(heardOn(listening, "gone")).toEqual([]);
      const ended = listening.responseTo("stays");
      if (serving) serving.close();
      else (listening as RawPeer & { channel: ChildChannel }).channel.child.kill("SIGTERM");
      const { result } = await ended;
      expect(result).toMatchObject({ resultType: "complete", _meta: { [subscriptionId]: "stays" } });
      const notice = await listening.notification("notifications/cancelled");
      expect(notice.params).toMatchObject({ requestId: "stays", _meta: { [subscriptionId]: "stays" } });
      await listening.until(({ isClosed }) => isClosed);
      expect(listening.strays).toEqual([]);
      const last = listening.transcript.slice(-2).map((line) => line.includes("notifications/cancelled"));
      expect(last).toEqual([false, true]);
    },
  },
  {
    row: "U8",
    says: "they go with the request that they are about, or nowhere",
    async test(open) {
      const peer = await open({ server });
      await listen(peer, "l", { toolsListChanged: true });
      const _meta = { progressToken: "p", "io.modelcontextprotocol/logLevel": "debug" };
      await peer.callTool("change", {}, { _meta });
      await peer.callTool("change", {});
      await peer.settled();
      const others = peer.notifications.filter(
        ({ method }) => method === "notifications/progress" || method === "notifications/message",
      );
      expect(others.map(({ method, params }) => [method, params?.["data"] ?? params?.["progressToken"]])).toEqual([
        ["notifications/progress", "p"],
        ["notifications/message", "changing"],
      ]);
      for (const { params } of others) expect((params as Entry)._meta?.[subscriptionId]).toBeUndefined();
      expect(heardOn(peer, "l").map(([method]) => method)).toEqual(["tools/list_changed", "tools/list_changed"]);
    },
  },
];
