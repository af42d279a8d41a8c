import { expect } from "vitest";
import type { Requirement } from "../../requirement.ts";
import { lists, pagesOf } from "./kit.ts";

/** Paginated lists. */
export const pages: readonly Requirement[] = [
  {
    row: "J1",
    says: "the pages of a list contain each entry once, in a stable order",
    async test(open) {
      const peer = await open();
      const pages = await pagesOf(peer, "tools/list");
      expect(pages.length).toBeGreaterThan(2);
      const names = pages.flatMap((page) => (page["tools"] as { name: string }[]).map(({ name }) => name));
      expect(new Set(names).size).toBe(names.length);
      expect(names).toEqual([...names].sort());
      expect(names).toContain("echo");
      for (const page of pages.slice(0, -1)) expect(page["nextCursor"]).toBeTypeOf("string");
      expect(pages.at(-1)).not.toHaveProperty("nextCursor");
      const again = await pagesOf(peer, "tools/list");
      expect(again).toEqual(pages);
      for (const [method, member] of Object.entries(lists))
        expect((await pagesOf(peer, method))[0]?.[member], method).toBeInstanceOf(Array);
    },
  },
  {
    row: "J1",
    says: "a cursor that was not issued is refused, also an empty one",
    async test(open) {
      const peer = await open();
      const { result } = await peer.request("tools/list");
      for (const cursor of [
        "garbage",
        "",
        "0",
        "10",
        `${result.nextCursor}x`,
        btoa("[]"),
        btoa("{}"),
        btoa('["",5]'),
        "é",
        " ",
      ]) {
        for (const method of Object.keys(lists)) {
          const { error } = await peer.request(method, { cursor });
          expect(error?.code, `${method} ${cursor}`).toBe(-32602);
          expect(error?.message).toContain("cursor");
        }
      }
      for (const cursor of [0, null, {}, ["x"], true])
        expect((await peer.request("tools/list", { cursor })).error?.code).toBe(-32602);
    },
  },
  {
    row: "J2",
    says: "a cursor is valid on another connection",
    async test(open) {
      const [one, other] = [await open(), await open()];
      const { result } = await one.request("tools/list");
      const cursor = result.nextCursor;
      expect((await other.request("tools/list", { cursor })).result.tools).toEqual(
        (await one.request("tools/list", { cursor })).result.tools,
      );
    },
  },
];
