import { expect } from "vitest";
import type { Requirement } from "../../requirement.ts";
import { accepting, type Entry, isFrom, jsonOf, textOf } from "../../results.ts";
import { refusedFor, server, toText } from "./kit.ts";

const question = { messages: [{ role: "user", content: toText("Hi") }], maxTokens: 5 };
const hello = { role: "assistant", content: toText("Hello"), model: "m", stopReason: "endTurn" };

/** Sampling requests. */
export const sampling: readonly Requirement[] = [
  {
    row: "K3",
    says: "every parameter is sent",
    async test(open) {
      const peer = await open({ server, capabilities: { sampling: {} }, answer: accepting() });
      const params = {
        ...question,
        systemPrompt: "Be brief",
        temperature: 0.5,
        stopSequences: ["."],
        metadata: { a: 1 },
        includeContext: "none",
      };
      expect(jsonOf(await peer.callTool("sample", { params }))).toEqual(hello);
      expect(peer.questions[0]?.method).toBe("sampling/createMessage");
      expect(peer.questions[0]?.params).toEqual(params);
      const unable = await open({ server, capabilities: { elicitation: {} }, answer: accepting() });
      refusedFor(unable, await unable.callTool("sample", { params }), { sampling: {} });
      const wrong = await open({
        server,
        capabilities: { sampling: {} },
        answer: () => ({ content: toText("Hello") }),
      });
      expect((await wrong.callTool("sample", { params })).error).toMatchObject({ code: -32602 });
    },
  },
  {
    row: "K4",
    says: "text and images are sent on every revision, audio since 2025-03-26",
    async test(open, { revision }) {
      const peer = await open({ server, capabilities: { sampling: {} }, answer: accepting() });
      const image = { type: "image", data: "aW1hZ2U=", mimeType: "image/png" };
      const audio = { type: "audio", data: "c291bmQ=", mimeType: "audio/wav" };
      const messages = [toText("Hi"), image, audio].map((content) => ({ role: "user", content }));
      await peer.callTool("sample", { params: { messages, maxTokens: 5 } });
      const sent = peer.questions[0]?.params?.["messages"] as Entry[];
      expect(sent.slice(0, 2)).toEqual(messages.slice(0, 2));
      if (isFrom(revision, "2025-03-26")) expect(sent[2]).toEqual(messages[2]);
      else
        expect(sent[2]).toMatchObject({
          role: "user",
          content: { type: "text", text: expect.stringContaining("audio/wav") },
        });
    },
  },
  {
    row: "K5",
    says: "model preferences are sent as given",
    async test(open) {
      const peer = await open({ server, capabilities: { sampling: {} }, answer: accepting() });
      const modelPreferences = {
        hints: [{ name: "b" }, { name: "a" }],
        costPriority: 0.1,
        speedPriority: 0,
        intelligencePriority: 1,
      };
      await peer.callTool("sample", { params: { ...question, modelPreferences } });
      expect(peer.questions[0]?.params?.["modelPreferences"]).toEqual(modelPreferences);
    },
  },
  {
    row: "K6",
    says: "thisServer and allServers need sampling.context; none does not",
    async test(open, { revision }) {
      const peer = await open({ server, capabilities: { sampling: {} }, answer: accepting() });
      expect(jsonOf(await peer.callTool("sample", { params: { ...question, includeContext: "none" } }))).toEqual(hello);
      peer.questions.length = 0;
      const asked = await peer.callTool("sample", { params: { ...question, includeContext: "thisServer" } });
      if (isFrom(revision, "2025-11-25")) {
        refusedFor(peer, asked, { sampling: { context: {} } });
        const able = await open({ server, capabilities: { sampling: { context: {} } }, answer: accepting() });
        expect(
          jsonOf(await able.callTool("sample", { params: { ...question, includeContext: "allServers" } })),
        ).toEqual(hello);
        expect(able.questions[0]?.params?.["includeContext"]).toBe("allServers");
      } else {
        // Before 2025-11-25 no capability existed for it.
        expect(jsonOf(asked)).toEqual(hello);
        expect(peer.questions[0]?.params?.["includeContext"]).toBe("thisServer");
      }
    },
  },
  {
    row: "K7",
    says: "tools without the capability and tool uses without a result are refused",
    async test(open, { revision }) {
      const answer = () => ({
        role: "assistant",
        content: [{ type: "tool_use", id: "u", name: "t", input: {} }],
        model: "m",
        stopReason: "toolUse",
      });
      const [peer, unable] = await Promise.all([
        open({ server, capabilities: { sampling: { tools: {} } }, answer }),
        open({ server, capabilities: { sampling: {} }, answer }),
      ]);
      const tools = [{ name: "t", inputSchema: { type: "object" } }];
      const params = { ...question, tools, toolChoice: { mode: "required" } };
      refusedFor(unable, await unable.callTool("sample", { params }), { sampling: { tools: {} } });
      refusedFor(unable, await unable.callTool("sample", { params: { ...question, toolChoice: { mode: "none" } } }), {
        sampling: { tools: {} },
      });
      const asked = await peer.callTool("sample", { params });
      if (!isFrom(revision, "2025-11-25")) return refusedFor(peer, asked, { sampling: { tools: {} } });
      expect(jsonOf(asked)).toMatchObject({ stopReason: "toolUse", content: [{ type: "tool_use", id: "u" }] });
      expect(peer.questions[0]?.params).toEqual(params);
      const use = { role: "assistant", content: [{ type: "tool_use", id: "u", name: "t", input: {} }] };
      const result = { type: "tool_result", toolUseId: "u", content: [toText("done")] };
      const wrong = [
        [use],
        [use, { role: "user", content: toText("no result") }],
        [use, { role: "user", content: [result, toText("and text")] }],
        [use, { role: "user", content: [{ ...result, toolUseId: "v" }] }],
        [{ role: "user", content: [result] }],
      ];
      peer.questions.length = 0;
      for (const messages of wrong) {
        const { result } = await peer.callTool("sample", { params: { messages, maxTokens: 5, tools } });
        expect(result.isError, JSON.stringify(messages)).toBe(true);
      }
      expect(peer.questions).toEqual([]);
      const errors = jsonOf(await peer.callTool("errors"));
      expect(errors).toHaveLength(wrong.length);
      for (const { code, message } of errors)
        expect([code, message]).toEqual(["invalid-argument", expect.stringMatching(/^ctx.sample: messages/)]);
    },
  },
  {
    row: "K8",
    says: "the code and message of a refusal reach the caller, and other calls continue",
    async test(open) {
      const answer = () => {
        throw { code: -1, message: "User rejected sampling request" };
      };
      const peer = await open({ server, capabilities: { sampling: {} }, answer });
      expect((await peer.callTool("sample", { params: question })).error).toEqual({
        code: -1,
        message: "User rejected sampling request",
      });
      expect(textOf(await peer.callTool("reads"))).toBe("read");
    },
  },
];
