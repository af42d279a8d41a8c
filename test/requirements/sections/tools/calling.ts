import { expect } from "vitest";
import { isStateless } from "../../../kit/revisions.ts";
import type { Requirement } from "../../requirement.ts";
import { accepting, allMembers, isFrom, jsonOf, members, textOf } from "../../results.ts";

const server = new URL("../../servers/tools.mjs", import.meta.url);
const form = { elicitation: {} };

/** Tool calls and their failures. */
export const calling: readonly Requirement[] = [
  {
    row: "G5",
    says: "structured content also appears as text, and is wrapped where only objects are allowed",
    async test(open, { revision }) {
      const peer = await open({ server });
      const sum = (await peer.callTool("sum", { a: 1, b: 2 })).result;
      const numbers = (await peer.callTool("numbers")).result;
      expect(sum.content).toEqual([{ type: "text", text: '{"sum":3}' }]);
      expect(numbers.content).toEqual([{ type: "text", text: "[1,2,3]" }]);
      if (!isFrom(revision, "2025-06-18")) {
        expect(sum).not.toHaveProperty("structuredContent");
        expect(numbers).not.toHaveProperty("structuredContent");
        return;
      }
      expect(sum.structuredContent).toEqual({ sum: 3 });
      expect(numbers.structuredContent).toEqual(isStateless(revision) ? [1, 2, 3] : { result: [1, 2, 3] });
      expect((await peer.callTool("with_own_text")).result).toMatchObject({
        content: [{ type: "text", text: "own" }],
        structuredContent: { ok: true },
      });
      expect((await peer.callTool("image_and_output")).result.content).toEqual([
        { type: "image", data: "aW1hZ2U=", mimeType: "image/png" },
        { type: "text", text: '{"ok":true}' },
      ]);
    },
  },
  {
    row: "G12",
    says: "the error names the tool, also for names of Object.prototype",
    async test(open) {
      const peer = await open();
      for (const name of ["nowhere", "", "__proto__", "constructor", "toString"]) {
        const { error, result } = await peer.callTool(name);
        expect(result).toBeUndefined();
        expect(error).toEqual({ code: -32602, message: `Unknown tool: ${name}` });
      }
    },
  },
  {
    row: "G13",
    says: "invalid arguments are isError with the path, a malformed request is -32602",
    async test(open) {
      const peer = await open({ server });
      const { result, error } = await peer.callTool("counted", { n: 5 });
      expect(error).toBeUndefined();
      expect(result.isError).toBe(true);
      expect(result.content).toHaveLength(1);
      expect(result.content[0].text).toMatch(/^Invalid arguments for tool "counted": n: .*3/);
      expect(result.content[0].text).not.toContain("\n");
      expect((await peer.callTool("counted")).result.isError).toBe(true);
      for (const wrong of ["text", 5, [1], null]) {
        const response = await peer.request("tools/call", { name: "counted", arguments: wrong });
        expect(response.error, JSON.stringify(wrong)).toMatchObject({ code: -32602 });
        expect(response.error?.message).toContain("params.arguments: expected an object");
      }
      expect((await peer.request("tools/call", { name: 5 })).error?.message).toContain(
        "params.name: expected a string, got number 5",
      );
      expect((await peer.request("tools/call", {})).error).toMatchObject({ code: -32602 });
    },
  },
  {
    row: "G14",
    says: "a ToolError is sent with its text, any other error only with a reference",
    async test(open) {
      const peer = await open({ server });
      expect((await peer.callTool("fails")).result).toMatchObject({
        content: [{ type: "text", text: "No city named Atlantis" }],
        isError: true,
      });
      expect((await peer.callTool("is_error")).result).toMatchObject({
        content: [{ type: "text", text: "it went wrong" }],
        isError: true,
      });
      const { result } = await peer.callTool("throws_late");
      expect(result).toMatchObject({ isError: true, content: [{ type: "text" }] });
      const [, reference] = /^The tool failed \(reference (\w+)\)$/.exec(result.content[0].text) ?? [];
      expect(reference).toBeDefined();
      expect(jsonOf(await peer.callTool("errors"))).toMatchObject([
        { message: "token=abc", method: "tools/call", name: "throws_late", reference },
      ]);
      expect(peer.transcript.filter((line) => line.startsWith("< ") && line.includes("token=abc"))).toHaveLength(1);
      expect((await peer.callTool("plain")).result).not.toHaveProperty("isError", true);
    },
  },
  {
    row: "G15",
    says: "invalid arguments never reach a tool, and invalid results never reach a client",
    async test(open) {
      const peer = await open({ server });
      await peer.callTool("counted", { n: 4 });
      await peer.callTool("counted", { n: "1" });
      await peer.callTool("counted", { n: 2 });
      expect(jsonOf(await peer.callTool("runs"))).toEqual([2]);
      const { result } = await peer.callTool("wrong_output");
      expect(result.isError).toBe(true);
      expect(result).not.toHaveProperty("structuredContent");
      expect(JSON.stringify(result)).not.toContain("three");
    },
  },
  {
    row: "G19",
    says: "an input_required result has neither isError nor content",
    async test(open) {
      const peer = await open({ capabilities: form });
      const { result } = await peer.callTool("ask_name");
      expect(members(result)).toEqual(["inputRequests", "requestState", "resultType"]);
      expect(result.resultType).toBe("input_required");
      const inputResponses = { name: accepting({ name: "Ada" })({ method: "elicitation/create" }) };
      const done = (await peer.callTool("ask_name", undefined, { inputResponses, requestState: result.requestState }))
        .result;
      expect(done).toMatchObject({ resultType: "complete", content: [{ type: "text", text: "Hello Ada" }] });
    },
  },
  {
    row: "XG1",
    says: "mixed content keeps its types and order",
    async test(open, { revision }) {
      const peer = await open();
      const { result } = await peer.callTool("mixed");
      const types = ["text", "image", "audio", "resource_link", "resource"];
      if (!isFrom(revision, "2025-06-18")) types[3] = "text";
      if (!isFrom(revision, "2025-03-26")) types[2] = "resource";
      expect(result.content.map(({ type }: { type: string }) => type)).toEqual(types);
      expect(result.content[1]).toEqual({ type: "image", data: "aW1hZ2U=", mimeType: "image/png" });
      expect(result.content[4].resource).toMatchObject({ uri: "note://a", mimeType: "text/plain", text: "A" });
    },
  },
  {
    row: "XG2",
    says: "a missing structured result is isError for the model and reported; an error result needs none",
    async test(open) {
      const peer = await open({ server });
      const { result } = await peer.callTool("no_structured");
      expect(result.isError).toBe(true);
      expect(result).not.toHaveProperty("structuredContent");
      const [error] = jsonOf(await peer.callTool("errors"));
      expect(error.message).toContain('Tool "no_structured"');
      const failed = (await peer.callTool("is_error")).result;
      expect(failed.isError).toBe(true);
      expect(failed).not.toHaveProperty("structuredContent");
    },
  },
  {
    row: "XG3",
    says: "0, false, an empty string and null are structured values",
    async test(open, { revision }) {
      const peer = await open({ server });
      const cases: [string, unknown][] = [
        ["zero", 0],
        ["no", false],
        ["empty", ""],
        ["null", null],
      ];
      for (const [name, value] of cases) {
        const { result } = await peer.callTool(name);
        expect(result, name).toHaveProperty("structuredContent");
        expect(result.structuredContent).toEqual(isStateless(revision) ? value : { result: value });
        expect(result.content).toEqual([{ type: "text", text: JSON.stringify(value) }]);
        expect(result).not.toHaveProperty("isError", true);
      }
    },
  },
  {
    row: "XG4",
    says: "a nested bigint fails its call in one line, and another call works",
    async test(open) {
      const peer = await open();
      const [bad, good] = await Promise.all([
        peer.callTool("unserializable"),
        peer.callTool("echo", { message: "hi" }),
      ]);
      const failure = bad.error?.message ?? bad.result?.content?.[0]?.text;
      expect(bad.error?.code === -32603 || bad.result?.isError === true).toBe(true);
      expect(failure).not.toContain("\n");
      expect(textOf(good)).toBe("hi");
      expect(allMembers(bad)).not.toContain("rows");
    },
  },
];
