import { expect } from "vitest";
import type { Requirement } from "../../requirement.ts";
import { jsonOf } from "../../results.ts";

const server = new URL("../../servers/features.mjs", import.meta.url);

/** Failing handlers and invalid cursors. */
export const failures: readonly Requirement[] = [
  {
    row: "XH3",
    says: "the client gets -32603 with a reference, and the operator gets the reason",
    async test(open) {
      const peer = await open({ server });
      const failures = [
        await peer.request("resources/read", { uri: "fails:now" }),
        await peer.request("prompts/get", { name: "fails" }),
      ];
      const references = failures.map(({ error }) => {
        expect(error?.code).toBe(-32603);
        const [, reference] = /^Internal error \(reference (\w+)\)$/.exec(error?.message ?? "") ?? [];
        return reference;
      });
      expect(jsonOf(await peer.callTool("errors"))).toMatchObject([
        { message: "password=hunter2", method: "resources/read", reference: references[0] },
        { message: "password=hunter2", method: "prompts/get", reference: references[1] },
      ]);
    },
  },
  {
    row: "XH4",
    says: "garbage, an altered cursor and a cursor of another list are -32602",
    async test(open) {
      const peer = await open({ server });
      const cursors: { [method: string]: string } = {};
      const methods = ["tools/list", "prompts/list", "resources/list", "resources/templates/list"];
      for (const method of methods) cursors[method] = (await peer.request(method)).result.nextCursor;
      for (const method of methods) {
        expect((await peer.request(method, { cursor: cursors[method] })).error).toBeUndefined();
        const foreign = methods.filter((other) => other !== method).map((other) => cursors[other]);
        for (const cursor of [...foreign, "garbage", "", `${cursors[method]}x`, "AAAA", "bnVsbA", 5, null]) {
          const { error } = await peer.request(method, { cursor });
          expect(error?.code, `${method} ${cursor}`).toBe(-32602);
          expect(error?.message).toContain("cursor");
        }
      }
    },
  },
];
