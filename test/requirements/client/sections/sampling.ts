import { type JsonObject, RpcError } from "portolan";
import type { Answers } from "portolan/client";
import { expect } from "vitest";
import { isStateless } from "../../../kit/revisions.ts";
import { isFrom } from "../../results.ts";
import { allAnswers, answerOf, asks } from "../kit/calls.ts";
import type { Requirement } from "../requirement.ts";
import { refusalOf } from "./asking.ts";

const user = (content: unknown = { type: "text", text: "Hi" }): JsonObject => ({ role: "user", content });
const plain: JsonObject = { messages: [user()], maxTokens: 10 };
const hello = { role: "assistant", model: "m", content: { type: "text", text: "Hello" } } as const;
const use = { type: "tool_use", id: "1", name: "search", input: {} };
const result = { type: "tool_result", toolUseId: "1", content: [] };

export const sampling: Requirement[] = [
  {
    row: "C-K3",
    says: "every member of the request reaches the application",
    async test({ open, revision }) {
      const params = {
        messages: [user(), { role: "assistant", content: { type: "text", text: "Yes?" } }, user()],
        maxTokens: 100,
        systemPrompt: "Be brief",
        includeContext: "none",
        temperature: 0.5,
        stopSequences: ["\n"],
        metadata: { x: [1] },
        modelPreferences: { costPriority: 0.1, speedPriority: 1, intelligencePriority: 0, hints: [{ name: "a" }] },
        later: true,
      };
      const asked: unknown[] = [];
      const sample: Answers["sample"] = (each) => {
        asked.push(each);
        return hello;
      };
      const on = { "tools/call": asks(revision, "sampling/createMessage", params) };
      const { client } = await open({ on, answers: { sample } });
      expect(await answerOf(client)).toEqual(hello);
      expect(asked).toEqual([params]);
    },
  },
  {
    row: "C-K3",
    says: "a malformed sampling request is refused",
    async test({ open, revision }) {
      const bad = [
        {},
        { messages: [], maxTokens: "1" },
        { messages: "Hi", maxTokens: 1 },
        { messages: [{ role: "system", content: {} }], maxTokens: 1 },
      ];
      for (const params of bad) {
        expect(await refusalOf(open, revision, ["sampling/createMessage", params], { answers: allAnswers })).toBe(
          -32602,
        );
      }
    },
  },
  {
    row: "C-K4",
    says: "images and audio reach the application, and results have the form of the revision",
    async test({ open, revision }) {
      const blocks = [
        { type: "image", data: "AAAA", mimeType: "image/png" },
        { type: "audio", data: "AAAA", mimeType: "audio/wav" },
      ];
      const asked: unknown[] = [];
      const sample = (({ messages }) => {
        asked.push(...messages.map(({ content }) => content));
        return { ...hello, content: [...blocks, hello.content] };
      }) as Answers["sample"];
      const params = { ...plain, messages: blocks.map((block) => user(block)) };
      const on = { "tools/call": asks(revision, "sampling/createMessage", params) };
      const { client } = await open({ on, answers: { sample: sample! } });
      const { content } = await answerOf(client);
      expect(asked).toEqual(blocks);
      // Older servers accept only one block.
      expect(Array.isArray(content)).toBe(isFrom(revision, "2025-11-25"));
      if (!Array.isArray(content))
        expect(content).toMatchObject({ type: "text", text: expect.stringContaining("Hello") });
    },
  },
  {
    row: "C-K5",
    says: "model hints arrive in order, also unknown ones",
    async test({ open, revision }) {
      const hints = [{ name: "zeta" }, { name: "alpha" }, { later: 1 }, {}];
      let seen: unknown;
      const sample: Answers["sample"] = ({ modelPreferences }) => {
        seen = modelPreferences?.hints;
        return hello;
      };
      const on = {
        "tools/call": asks(revision, "sampling/createMessage", { ...plain, modelPreferences: { hints } }),
      };
      const { client } = await open({ on, answers: { sample } });
      await answerOf(client);
      expect(seen).toEqual(hints);
    },
  },
  {
    row: "C-K6",
    says: "includeContext needs sampling.context since 2025-11-25, and no capability before",
    async test({ open, revision }) {
      const question = ["sampling/createMessage", { ...plain, includeContext: "allServers" }] as const;
      const on = { "tools/call": asks(revision, ...question) };
      if (isFrom(revision, "2025-11-25")) {
        expect(await refusalOf(open, revision, question, { answers: allAnswers })).toBe(-32602);
        const { client } = await open({ on, answers: allAnswers, capabilities: { sampling: { context: {} } } });
        expect(await answerOf(client)).toMatchObject(hello);
      } else {
        const { client } = await open({ on, answers: allAnswers });
        expect(await answerOf(client)).toMatchObject(hello);
      }
    },
  },
  {
    row: "C-K7",
    says: "tools without the capability and tool uses without results are refused",
    async test({ open, revision }) {
      const tools = [{ name: "search", inputSchema: { type: "object" } }];
      const ask = (more: JsonObject) => ["sampling/createMessage", { ...plain, ...more }] as const;
      const declared = { answers: allAnswers, capabilities: { sampling: { tools: {} } } };
      expect(await refusalOf(open, revision, ask({ tools }), { answers: allAnswers })).toBe(-32602);
      expect(await refusalOf(open, revision, ask({ toolChoice: { mode: "auto" } }), { answers: allAnswers })).toBe(
        -32602,
      );
      const assistant = { role: "assistant", content: use };
      const dangling = [
        [assistant, user()],
        [assistant, user([result, { type: "text", text: "and" }])],
        [{ role: "assistant", content: [use, { ...use, id: "2" }] }, user(result)],
      ];
      for (const messages of dangling) {
        expect(await refusalOf(open, revision, ask({ tools, messages }), declared)).toBe(-32602);
      }
      const messages = [
        user(),
        { role: "assistant", content: [use, { ...use, id: "2" }] },
        user([result, { ...result, toolUseId: "2" }]),
      ];
      const on = { "tools/call": asks(revision, ...ask({ tools, messages, toolChoice: { mode: "none" } })) };
      const { client } = await open({ on, ...declared });
      expect(await answerOf(client)).toMatchObject(hello);
    },
  },
  {
    row: "C-K8",
    says: "the code, message and data of a refusal are passed on",
    async test({ open, revision }) {
      const answers: Answers = {
        sample: () => {
          throw new RpcError(-1, "User rejected sampling request", { data: { by: "user" } });
        },
      };
      const on = { "tools/call": asks(revision, "sampling/createMessage", plain) };
      const { client, server, settled } = await open({ on, answers });
      const refused = { code: -1, message: "User rejected sampling request", data: { by: "user" } };
      const { error, reason } = await answerOf(client);
      expect(isStateless(revision) ? reason : error).toMatchObject(refused);
      await settled();
      expect(server.of("tools/call")).toHaveLength(1);
    },
  },
];
