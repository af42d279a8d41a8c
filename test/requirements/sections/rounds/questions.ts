import type { JsonObject } from "portolan";
import { expect } from "vitest";
import type { Requirement } from "../../requirement.ts";
import { jsonOf, members, textOf } from "../../results.ts";
import { capabilities, round, server, yes } from "./kit.ts";

/** The requests of an input_required result. */
export const questions: readonly Requirement[] = [
  {
    row: "M1",
    says: "the three methods may return input_required; lists and completion never do",
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
    says: "requests are bare, and the state is a string",
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
    says: "only capabilities of the same request count",
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
    row: "M10",
    says: "a plain read is cacheable; input_required and retried reads are not",
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
    says: "all requests of a round are in one input_required result",
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
    row: "XM10",
    says: "the process continues, and no error is reported",
    async test(open) {
      const peer = await open({ server, capabilities });
      for (const name of ["made_then_awaited", "siblings", "together", "parked_together"]) await round(peer, name);
      await peer.settled();
      expect(textOf(await peer.callTool("reads"))).toBe("read");
      expect(jsonOf(await peer.callTool("errors"))).toEqual([]);
    },
  },
];
