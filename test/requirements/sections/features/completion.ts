import { expect } from "vitest";
import type { Requirement } from "../../requirement.ts";
import { isFrom, offeredBy } from "../../results.ts";

const server = new URL("../../servers/features.mjs", import.meta.url);
const bare = new URL("../../servers/bare.mjs", import.meta.url);

/** Requirements on completion. */
export const completion: readonly Requirement[] = [
  {
    row: "H14",
    says: "values are filtered, counted and limited to 100",
    async test(open, { revision }) {
      const [peer, without] = await Promise.all([open({ server }), open({ server: bare })]);
      const complete = async (ref: object, argument: object, more: object = {}) =>
        (await peer.request("completion/complete", { ref, argument, ...more })).result?.completion;
      const prompt = { type: "ref/prompt", name: "completing" };
      const template = { type: "ref/resource", uri: "book:{title}/{page}" };
      expect(await complete(prompt, { name: "who", value: "a" })).toEqual({
        values: ["Ada", "alan"],
        total: 2,
        hasMore: false,
      });
      expect(await complete(prompt, { name: "who", value: "" })).toEqual({
        values: ["Ada", "alan", "Bob"],
        total: 3,
        hasMore: false,
      });
      expect(await complete(prompt, { name: "free", value: "x" })).toEqual({ values: [] });
      expect(await complete(template, { name: "page", value: "" })).toEqual({
        values: ["1", "2"],
        total: 7,
        hasMore: true,
      });
      const cut = await complete(template, { name: "title", value: "t" });
      expect(cut.values).toHaveLength(100);
      expect(cut.values[99]).toBe("t-99");
      expect(cut.hasMore).toBe(true);
      const context = { context: { arguments: { page: "7" } } };
      expect((await complete(template, { name: "title", value: "t" }, context)).values[0]).toBe("t7-0");
      const { completions } = await offeredBy(peer);
      expect(completions).toEqual(isFrom(revision, "2025-03-26") ? {} : undefined);
      expect(await offeredBy(without)).not.toHaveProperty("completions");
      const refused = await without.request("completion/complete", {
        ref: prompt,
        argument: { name: "who", value: "" },
      });
      expect(refused.error).toMatchObject({ code: -32601 });
    },
  },
  {
    row: "H15",
    says: "unknown references and malformed requests are -32602",
    async test(open) {
      const peer = await open({ server });
      const argument = { name: "who", value: "" };
      const wrong: [object, object][] = [
        [{ type: "ref/prompt", name: "nowhere" }, argument],
        [
          { type: "ref/prompt", name: "completing" },
          { name: "nowhere", value: "" },
        ],
        [
          { type: "ref/prompt", name: "completing" },
          { name: "__proto__", value: "" },
        ],
        [
          { type: "ref/prompt", name: "completing" },
          { name: "who", value: 5 },
        ],
        [{ type: "ref/prompt" }, argument],
        [{ type: "ref/resource", uri: "nowhere:{x}" }, argument],
        [
          { type: "ref/resource", uri: "book:{title}/{page}" },
          { name: "nowhere", value: "" },
        ],
        [{ type: "ref/resource" }, argument],
        [{ type: "ref/other", name: "completing" }, argument],
      ];
      for (const [ref, asked] of wrong) {
        const { error, result } = await peer.request("completion/complete", { ref, argument: asked });
        expect(result).toBeUndefined();
        expect(error?.code, JSON.stringify(ref)).toBe(-32602);
        expect(error?.message).not.toContain("\n");
      }
      expect((await peer.request("completion/complete", {})).error).toMatchObject({ code: -32602 });
      const fixed = { ref: { type: "ref/resource", uri: "book:fixed/1" }, argument };
      expect((await peer.request("completion/complete", fixed)).result.completion).toEqual({ values: [] });
    },
  },
];
