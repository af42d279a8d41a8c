import { expect } from "vitest";
import type { Requirement } from "../../requirement.ts";
import { accepting, isFrom, listed, members, offeredBy } from "../../results.ts";

const server = new URL("../../servers/features.mjs", import.meta.url);

/** Requirements on prompts. */
export const prompts: readonly Requirement[] = [
  {
    row: "H9",
    says: "a listed entry has exactly the members of the revision",
    async test(open, { revision }) {
      const peer = await open();
      const prompt = await listed(peer, "prompts/list", "prompts", "greet");
      const wanted = ["arguments", "description", "name"];
      if (isFrom(revision, "2025-06-18")) wanted.push("_meta", "title");
      if (isFrom(revision, "2025-11-25")) wanted.push("icons");
      expect(members(prompt)).toEqual(wanted.sort());
      const title = isFrom(revision, "2025-06-18") ? { title: "Who" } : {};
      expect(prompt.arguments).toEqual([
        { name: "who", required: true, description: "Whom to greet", ...title },
        { name: "tone" },
      ]);
      expect((await offeredBy(peer)).prompts).toEqual({ listChanged: true });
    },
  },
  {
    row: "H10",
    says: "argument values that are not strings are refused with their path",
    async test(open) {
      const peer = await open({ server });
      for (const a of [5, true, null, ["x"], { x: "y" }]) {
        const { error } = await peer.request("prompts/get", { name: "several", arguments: { a } });
        expect(error?.code).toBe(-32602);
        expect(error?.message).toContain("params.arguments.a: expected a string");
      }
    },
  },
  {
    row: "H11",
    says: "several messages keep their order, and older peers get newer media in older forms",
    async test(open, { revision }) {
      const [peer, full] = await Promise.all([open({ server }), open()]);
      const several = (await peer.request("prompts/get", { name: "several", arguments: { a: "1" } })).result;
      expect(several.messages).toEqual([
        { role: "user", content: { type: "text", text: "a=1" } },
        { role: "assistant", content: { type: "text", text: "b=undefined" } },
        { role: "user", content: { type: "image", data: "aW1hZ2U=", mimeType: "image/png" } },
      ]);
      expect((await peer.request("prompts/get", { name: "described" })).result).toMatchObject({ description: "Now" });
      const { messages } = (await full.request("prompts/get", { name: "media" })).result;
      expect(messages.map(({ role }: { role: string }) => role)).toEqual(["user", "assistant", "user"]);
      expect(messages[0].content.type).toBe(isFrom(revision, "2025-03-26") ? "audio" : "resource");
      expect(messages[1].content.type).toBe(isFrom(revision, "2025-06-18") ? "resource_link" : "text");
      if (!isFrom(revision, "2025-06-18")) expect(messages[1].content.text).toContain("note://a");
      expect(messages[2].content).toEqual({ type: "resource", resource: { uri: "note://a", text: "A" } });
    },
  },
  {
    row: "H12",
    says: "each error names the prompt or argument",
    async test(open) {
      const peer = await open({ server });
      expect((await peer.request("prompts/get", { name: "nowhere" })).error).toEqual({
        code: -32602,
        message: "Unknown prompt: nowhere",
      });
      const missing = (await peer.request("prompts/get", { name: "several" })).error;
      expect(missing?.code).toBe(-32602);
      expect(missing?.message).toContain("params.arguments.a");
      expect(
        (await peer.request("prompts/get", { name: "several", arguments: { a: "" } })).result.messages[0].content.text,
      ).toBe("a=");
      expect((await peer.request("prompts/get", {})).error).toMatchObject({ code: -32602 });
    },
  },
  {
    row: "H13",
    says: "the request to the client comes first, then the messages",
    async test(open) {
      const peer = await open({ capabilities: { elicitation: {} }, answer: accepting() });
      const first = await peer.request("prompts/get", { name: "asks" });
      expect(first.result).toMatchObject({
        resultType: "input_required",
        inputRequests: { get: { method: "elicitation/create" } },
      });
      const { result } = await peer.converse("prompts/get", { name: "asks" });
      expect(result).toMatchObject({
        resultType: "complete",
        messages: [{ role: "user", content: { type: "text", text: "true" } }],
      });
    },
  },
];
