import type { JsonObject } from "portolan";
import type { Answers } from "portolan/client";
import { createClock } from "portolan/testing";
import { expect } from "vitest";
import { allAnswers, round, text, textOf } from "../kit/calls.ts";
import type { Requirement } from "../requirement.ts";

const roots = { method: "roots/list" };
const form = (message: string, properties: JsonObject = {}) => ({
  method: "elicitation/create",
  params: { message, requestedSchema: { type: "object", properties } },
});
const invalid = { code: "answer-invalid" };

/** The params of each attempt, without metadata. */
export const triesOf = (server: { of(method: string): { params?: { _meta?: JsonObject } }[] }) =>
  server.of("tools/call").map(({ params = {} }) => {
    const { _meta, ...rest } = params;
    return rest;
  });

export const rounds: Requirement[] = [
  {
    row: "C-M1",
    says: "an input_required result of any other method is invalid",
    async test({ open }) {
      const ask = () => round({ q: roots }, "s");
      const on = { "tools/list": ask, "prompts/list": ask, "resources/list": ask, "completion/complete": ask };
      const { client, server } = await open({ answers: allAnswers, on });
      await expect(client.listTools()).rejects.toMatchObject(invalid);
      await expect(client.listPrompts()).rejects.toMatchObject(invalid);
      await expect(client.listResources()).rejects.toMatchObject(invalid);
      const complete = client.complete({ type: "ref/prompt", name: "p" }, { name: "a", value: "" });
      await expect(complete).rejects.toMatchObject(invalid);
      expect(server.methods.slice(1)).toHaveLength(4);
    },
  },
  {
    row: "C-M2",
    says: "an input_required result without valid requests or state is invalid",
    async test({ open }) {
      const bad: JsonObject[] = [
        {},
        { inputRequests: {} },
        { inputRequests: [] },
        { inputRequests: { q: "roots/list" } },
        { inputRequests: { q: {} } },
        { inputRequests: { q: { method: "tools/call" } } },
        { inputRequests: { q: { method: "roots/list", params: [] } } },
        { requestState: 5 },
        { requestState: null, inputRequests: { q: roots } },
      ];
      const on = {
        "tools/call": ({ params }: { params?: { name: string } }) => ({ ...round(), ...bad[Number(params?.name)] }),
      };
      const { client, server } = await open({ answers: allAnswers, on });
      for (const index of bad.keys()) {
        await expect(client.callTool(String(index)), JSON.stringify(bad[index])).rejects.toMatchObject(invalid);
      }
      expect(server.of("tools/call")).toHaveLength(bad.length);
    },
  },
  {
    row: "C-M3",
    says: "a request for an undeclared capability rejects the call, and no retry is sent",
    async test({ open }) {
      const sample = { method: "sampling/createMessage", params: { messages: [], maxTokens: 1 } };
      let asked = 0;
      const { client, server, settled } = await open({
        answers: {
          roots: () => {
            asked += 1;
            return [];
          },
        },
        on: { "tools/call": () => round({ fine: roots, undeclared: sample }) },
      });
      await expect(client.callTool("a")).rejects.toMatchObject({ name: "RpcError", code: -32601 });
      await expect(client.callTool("a", {}, { capabilities: {} })).rejects.toMatchObject({ code: -32601 });
      await settled();
      expect(server.of("tools/call")).toHaveLength(2);
      expect(asked).toBeLessThanOrEqual(1);
    },
  },
  {
    row: "C-M4",
    says: "each retry has the same params, the answers by key, the exact state and a new id",
    async test({ open }) {
      const answers: Answers = {
        ...allAnswers,
        elicit: ({ message }) => ({ action: "accept", content: { to: message } }),
        roots: [{ uri: "file:///r" }],
      };
      const schema = { to: { type: "string" } };
      const state = '{"not": "ours"}\u2028 é ';
      const { client, server } = await open({
        answers,
        on: {
          "tools/call": ({ params: { inputResponses = {} } }) => {
            if (inputResponses["second"]) return text("done");
            if (inputResponses["first/ü"]) return round({ second: form("again", schema) });
            return round({ "first/ü": form("once", schema), r: roots }, state);
          },
        },
      });
      const args = { n: [1, { x: null }] };
      expect(textOf(await client.callTool("a", args, { meta: { "example.com/x": 1 } }))).toBe("done");
      const first = { name: "a", arguments: args };
      const form1 = { action: "accept", content: { to: "once" } };
      const form2 = { action: "accept", content: { to: "again" } };
      expect(triesOf(server)).toEqual([
        first,
        { ...first, inputResponses: { "first/ü": form1, r: { roots: [{ uri: "file:///r" }] } }, requestState: state },
        { ...first, inputResponses: { second: form2 } },
      ]);
      const tries = server.of("tools/call");
      expect(new Set(tries.map(({ id }) => id)).size).toBe(3);
      expect(new Set(tries.map(({ params }) => params._meta.progressToken)).size).toBe(3);
      for (const { params } of tries) expect(params._meta).toMatchObject({ "example.com/x": 1 });
    },
  },
  {
    row: "C-M5",
    says: "a round with a state only is retried with that state, with back-off",
    async test({ open }) {
      const clock = createClock();
      let left = 4;
      const { client, server } = await open({
        clock,
        on: {
          "tools/call": () => {
            left -= 1;
            return left > 0 ? round(undefined, `left ${left}`) : text("done");
          },
        },
      });
      const call = client.callTool("a");
      await server.arrival("tools/call");
      for (const nth of [2, 3, 4]) {
        const isThere = () => server.of("tools/call").length >= nth;
        await expect
          .poll(
            async () => {
              await clock.advance(10);
              return isThere();
            },
            { interval: 1 },
          )
          .toBe(true);
      }
      expect(textOf(await call)).toBe("done");
      expect(triesOf(server).map((params) => (params as JsonObject)["requestState"])).toEqual([
        undefined,
        "left 3",
        "left 2",
        "left 1",
      ]);
      expect(triesOf(server).filter((params) => "inputResponses" in params)).toEqual([]);
      // The first retry is immediate, later ones wait at least 100 ms.
      expect(clock.now()).toBeGreaterThanOrEqual(300);
    },
  },
  {
    row: "C-M6",
    says: "parallel calls keep their own answers and states, in any order",
    async test({ open }) {
      const held = new Map<string, () => void>();
      const answers: Answers = {
        elicit: async ({ message }) => {
          await new Promise<void>((resolve) => held.set(message, resolve));
          return { action: "accept", content: { name: message } };
        },
      };
      const { client, server } = await open({
        answers,
        on: {
          "tools/call": ({ params }) => {
            if (params.inputResponses) return text(`${params.requestState} ${params.inputResponses.q.content.name}`);
            return round({ q: form(params.name, { name: { type: "string" } }) }, `state of ${params.name}`);
          },
        },
      });
      const names = ["a", "b", "c"];
      const calls = names.map((name) => client.callTool(name).then(textOf));
      await expect.poll(() => held.size).toBe(3);
      for (const name of ["c", "a", "b"]) held.get(name)?.();
      expect(await Promise.all(calls)).toEqual(names.map((name) => `state of ${name} ${name}`));
      expect(await server.until(() => server.of("tools/call").length)).toBe(6);
    },
  },
  {
    row: "C-M7",
    says: "a state is returned unchanged",
    async test({ open }) {
      const states = ["", "null", "{}", "\u0000\ud83d\ude42", "a".repeat(100_000), ' "quoted\\" '];
      for (const state of states) {
        const { client, server } = await open({
          answers: { roots: [] },
          on: { "tools/call": ({ params }) => (params.inputResponses ? text("x") : round({ q: roots }, state)) },
        });
        await client.callTool("a");
        expect(server.of("tools/call")[1]!.params.requestState).toBe(state);
      }
    },
  },
];
