import { fileURLToPath } from "node:url";
import type { JsonObject } from "portolan";
import { createServer } from "portolan/server";
import { expect } from "vitest";
import { ChildChannel, connectMemory } from "../../../kit/raw-peer.ts";
import type { RevisionDate } from "../../../kit/revisions.ts";
import type { Requirement } from "../../requirement.ts";
import { listedTool, textOf } from "../../results.ts";

const server = new URL("../../servers/content.mjs", import.meta.url);
const unfit = new URL("../../servers/unfit.mjs", import.meta.url);
const runner = fileURLToPath(new URL("../../../kit/serve.mjs", import.meta.url));

/** Serves a tool with an unusable schema; expects that it is left out and resolves to the reported error. */
async function refusal(revision: RevisionDate, input: JsonObject): Promise<string> {
  const reported: unknown[] = [];
  const onError = (error: unknown) => reported.push(error);
  const served = createServer({ name: "unfit", version: "1" }, { onError }).tool("unfit", { input, run: () => "" });
  const peer = await connectMemory(served, { revision });
  expect((await peer.request("tools/list")).result.tools).toEqual([]);
  expect((await peer.callTool("unfit")).error?.code).toBe(-32602);
  await peer.close();
  expect(reported).toHaveLength(1);
  return (reported[0] as Error).message;
}

/** Schemas of tools: dialects, references and depth. */
export const schemas: readonly Requirement[] = [
  {
    row: "I7",
    says: "both dialects are enforced, and an unknown one is refused by name",
    async test(open, { revision }) {
      const peer = await open({ server });
      expect((await listedTool(peer, "draft07")).inputSchema.$schema).toBe("http://json-schema.org/draft-07/schema#");
      const isError = async (name: string, args: object) =>
        (await peer.callTool(name, { ...args })).result.isError === true;
      expect(await isError("draft07", { pair: ["a", 1] })).toBe(false);
      expect(await isError("draft07", { pair: ["a", "b"] })).toBe(true);
      expect(await isError("draft07", { pair: ["a", 1, 2] })).toBe(true);
      expect(await isError("modern", { pair: ["a", 1, 2] })).toBe(false);
      expect(await isError("modern", { pair: ["a", "b"] })).toBe(true);
      expect(await isError("modern", { other: 1 })).toBe(true);
      const reason = await refusal(revision, { $schema: "http://json-schema.org/draft-04/schema#", type: "object" });
      expect(reason).toMatch(/^Tool "unfit": input: .*draft-04/);
    },
  },
  {
    row: "I8",
    says: "the reported error names the reference",
    async test(_, { revision, transport }) {
      if (transport === "stdio") {
        const child = new ChildChannel(process.execPath, [runner, fileURLToPath(unfit)]);
        expect(await child.exited).not.toBe(0);
        const [line = ""] = child.stderr.split("\n");
        expect(line).toContain('Tool "far": input: ');
        expect(line).toContain("https://example.com/schema.json");
        return;
      }
      for (const $ref of ["https://example.com/schema.json", "other.json", "file:///etc/passwd"]) {
        const reason = await refusal(revision, { type: "object", properties: { a: { $ref } } });
        expect(reason).toMatch(/^Tool "unfit": input: /);
        expect(reason).toContain($ref);
        expect(reason).not.toContain("\n");
      }
    },
  },
  {
    row: "I9",
    says: "deeply nested arguments are answered with an error, and the server continues",
    async test(open) {
      const peer = await open({ server });
      const nest = (levels: number) => {
        let tree = {};
        for (let level = 0; level < levels; level += 1) tree = { next: tree };
        return { tree };
      };
      expect(textOf(await peer.callTool("deep", nest(100)))).toBe("fits");
      const { result } = await peer.callTool("deep", nest(900));
      expect(result).toMatchObject({ isError: true });
      expect(result.content[0].text).toMatch(/^Invalid arguments for tool "deep": nested more than \d+ levels deep/);
      expect(textOf(await peer.callTool("any", nest(900)))).toBe("ran");
    },
  },
];
