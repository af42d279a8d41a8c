import type { JsonObject } from "portolan";
import { createClock } from "portolan/testing";
import { expect } from "vitest";
import { allAnswers, follow, gate, round, text, textOf, turn } from "../kit/calls.ts";
import { refusal } from "../kit/scripted-server.ts";
import type { Requirement } from "../requirement.ts";
import { triesOf } from "./rounds.ts";

const roots = { method: "roots/list" };
const form = (message: string): JsonObject => ({
  method: "elicitation/create",
  params: { message, requestedSchema: { type: "object", properties: {} } },
});

export const roundsEnd: Requirement[] = [
  {
    row: "C-M5",
    says: "a pending retry rejects when the client is closed",
    async test({ open }) {
      const clock = createClock();
      const { client, server } = await open({ clock, on: { "tools/call": () => round(undefined, "again") } });
      const call = follow(client.callTool("a"));
      await server.arrival("tools/call");
      await client.ping();
      await client.close();
      await turn();
      expect(call.outcome).toBe("connection-closed");
    },
  },
  {
    row: "C-M8",
    says: "a repeated request is answered again, and the server's error rejects the call",
    async test({ open }) {
      let asked = 0;
      const { client, server } = await open({
        answers: {
          roots: () => {
            asked += 1;
            return [];
          },
        },
        on: {
          "tools/call": () => {
            if (asked < 3) return round({ q: roots });
            throw refusal(-32602, "Invalid or expired requestState");
          },
        },
      });
      await expect(client.callTool("a")).rejects.toMatchObject({
        code: -32602,
        message: "Invalid or expired requestState",
      });
      expect(server.of("tools/call")).toHaveLength(4);
    },
  },
  {
    row: "C-M9",
    says: "with autoAnswer false the caller gets the round and can retry with answers later",
    async test({ open }) {
      const question = round({ q: form("?") }, "s");
      const { client, server, settled } = await open({
        answers: allAnswers,
        on: { "tools/call": ({ params }) => (params.inputResponses ? text("done") : question) },
      });
      expect(await client.callTool("a", { n: 1 }, { autoAnswer: false })).toEqual(question);
      await settled();
      expect(server.of("tools/call")).toHaveLength(1);
      const inputResponses = { q: { action: "decline" as const } };
      const again = await client.callTool("a", { n: 1 }, { autoAnswer: false, inputResponses, requestState: "s" });
      expect(again).toMatchObject(text("done"));
      expect(triesOf(server)[1]).toEqual({ name: "a", arguments: { n: 1 }, inputResponses, requestState: "s" });
    },
  },
  {
    row: "C-M10",
    says: "the result of a retry is not cached, whether the client or the caller answered",
    async test({ open }) {
      const { client, server } = await open({
        answers: { roots: [] },
        on: {
          "resources/read": ({ params: { uri, inputResponses } }) => {
            if (!inputResponses) return round({ q: roots });
            return { contents: [{ uri, text: "x" }], ttlMs: 60_000, cacheScope: "private" };
          },
        },
      });
      for (const _ of [1, 2]) await client.readResource("note://a");
      expect(server.of("resources/read")).toHaveLength(4);
      const inputResponses = { q: { roots: [] } };
      for (const _ of [1, 2]) await client.readResource("note://b", { autoAnswer: false, inputResponses });
      expect(server.of("resources/read")).toHaveLength(6);
      expect(await client.readResource("note://b", { autoAnswer: false })).toMatchObject({
        resultType: "input_required",
      });
    },
  },
  {
    row: "C-M10",
    says: "a retry is not answered from the cache",
    async test({ open }) {
      const { client, server } = await open({
        on: {
          "resources/read": ({ params: { uri, inputResponses } }) => ({
            contents: [{ uri, text: inputResponses ? "answered" : "public" }],
            ttlMs: 60_000,
            cacheScope: "private",
          }),
        },
      });
      await client.readResource("note://a");
      const { contents } = await client.readResource("note://a", { inputResponses: { q: { roots: [] } } });
      expect(contents).toMatchObject([{ text: "answered" }]);
      expect(server.of("resources/read")).toHaveLength(2);
    },
  },
  {
    row: "C-M10",
    says: "an input_required result is not cached, even with a ttlMs",
    async test({ open }) {
      const { client, server } = await open({
        on: { "resources/read": () => ({ ...round({ q: roots }), ttlMs: 60_000 }) },
      });
      for (const _ of [1, 2]) await client.readResource("note://a", { autoAnswer: false });
      expect(server.of("resources/read")).toHaveLength(2);
    },
  },
  {
    row: "C-XM1",
    says: "a call with more than 16 rounds rejects",
    async test({ open }) {
      const { client, server } = await open({
        answers: { roots: [] },
        on: { "tools/call": () => round({ q: roots }) },
      });
      const failing = client.callTool("a");
      await expect(failing).rejects.toMatchObject({ code: "limit-reached", message: expect.stringContaining("16") });
      expect(server.of("tools/call")).toHaveLength(16);
    },
  },
  {
    row: "C-XM1",
    says: "20 requests in one round leave no listeners",
    async test({ open }) {
      const warnings: string[] = [];
      const onWarning = ({ message }: Error) => warnings.push(message);
      process.on("warning", onWarning);
      try {
        const questions = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`q${n}`, roots]));
        const { client, settled } = await open({
          answers: { roots: [] },
          on: { "tools/call": ({ params }) => (params.inputResponses ? text("done") : round(questions)) },
        });
        expect(textOf(await client.callTool("a"))).toBe("done");
        await settled();
        expect(warnings).toEqual([]);
      } finally {
        process.off("warning", onWarning);
      }
    },
  },
  {
    row: "C-XM2",
    says: "a declined form is sent as an answer, and a failed answer rejects the call",
    async test({ open }) {
      const { client, server, settled } = await open({
        answers: {
          elicit: () => ({ action: "decline" }),
          sample: () => {
            throw new Error("no model");
          },
        },
        on: {
          "tools/call": ({ params }) => {
            if (params.inputResponses) return text(JSON.stringify(params.inputResponses));
            const sample = { method: "sampling/createMessage", params: { messages: [], maxTokens: 1 } };
            return round(params.name === "decline" ? { q: form("?") } : { q: form("?"), m: sample });
          },
        },
      });
      expect(textOf(await client.callTool("decline"))).toBe('{"q":{"action":"decline"}}');
      await expect(client.callTool("refuse")).rejects.toThrow("no model");
      await settled();
      expect(server.of("tools/call")).toHaveLength(3);
    },
  },
  {
    row: "C-XM3",
    says: "aborting a call aborts its open answers, and nothing more is sent",
    async test({ open }) {
      const asked = gate<AbortSignal>();
      const answer = gate();
      const { client, server, settled } = await open({
        answers: {
          roots: async ({ signal }) => {
            asked.open(signal);
            await answer.promise;
            return [];
          },
        },
        on: { "tools/call": () => round({ q: roots }) },
      });
      const controller = new AbortController();
      const call = follow(client.callTool("a", {}, { signal: controller.signal }));
      const signal = await asked.promise;
      expect(signal.aborted).toBe(false);
      controller.abort();
      await turn();
      expect(call.outcome).toBe("cancelled");
      expect(signal.aborted).toBe(true);
      answer.open();
      await settled();
      expect(server.of("tools/call")).toHaveLength(1);
      // The round is complete, so there is nothing to cancel.
      expect(server.of("notifications/cancelled")).toEqual([]);
    },
  },
];
