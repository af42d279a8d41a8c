import type { JsonObject } from "portolan";
import { expect } from "vitest";
import { isStateless, stateless } from "../../../kit/revisions.ts";
import { refusal } from "../kit/scripted-server.ts";
import type { Requirement } from "../requirement.ts";

const tool = (name: string): JsonObject => ({ name, inputSchema: { type: "object" } });
const cursorsOf = (server: { of(method: string): { params?: { cursor?: string } }[] }) =>
  server.of("tools/list").map(({ params }) => params?.cursor);

export const pages: Requirement[] = [
  {
    row: "C-J1",
    says: "the empty string is a valid cursor",
    async test({ open }) {
      const next: { readonly [cursor: string]: string | undefined } = { start: "", "": "=/?&é", "=/?&é": undefined };
      const { client, server } = await open({
        on: {
          "tools/list": ({ params }) => {
            const at: string = params?.cursor ?? "start";
            return { tools: [tool(`after ${at}`)], ...(next[at] !== undefined && { nextCursor: next[at] }) };
          },
        },
      });
      expect((await client.listTools()).map(({ name }) => name)).toEqual(["after start", "after ", "after =/?&é"]);
      expect(cursorsOf(server)).toEqual([undefined, "", "=/?&é"]);
    },
  },
  {
    row: "C-J1",
    says: "a repeated cursor, endless pages and too many items reject",
    async test({ open }) {
      const circle = await open({ on: { "tools/list": () => ({ tools: [tool("a")], nextCursor: "again" }) } });
      const seen = { code: "limit-reached", message: expect.stringContaining("again") };
      await expect(circle.client.listTools()).rejects.toMatchObject(seen);
      expect(circle.server.of("tools/list")).toHaveLength(2);
      let page = 0;
      const endless = await open({
        on: {
          "tools/list": () => {
            page += 1;
            return { tools: [tool("a"), tool("b")], nextCursor: `page ${page}` };
          },
        },
      });
      await expect(endless.client.listTools({ maxPages: 5 })).rejects.toMatchObject({ code: "limit-reached" });
      expect(page).toBe(5);
      await expect(endless.client.listTools({ maxItems: 7 })).rejects.toMatchObject({ code: "limit-reached" });
      expect(page).toBe(9);
    },
  },
  {
    row: "C-J1",
    says: "only the pages that are read are requested",
    async test({ open }) {
      let page = 0;
      const { client, server } = await open({
        on: {
          "tools/list": () => {
            page += 1;
            return { tools: [tool(`a${page}`), tool(`b${page}`)], nextCursor: `${page}` };
          },
        },
      });
      const names: string[] = [];
      for await (const { name } of client.tools()) {
        names.push(name);
        if (name === "a2") break;
      }
      expect(names).toEqual(["a1", "b1", "a2"]);
      expect(server.of("tools/list")).toHaveLength(2);
    },
  },
  {
    row: "C-J1",
    says: "100,000 tools are listed, and one more rejects",
    async test({ open }) {
      const size = 5_000;
      const names = Array.from({ length: size }, (_, n) => tool(`t${n}`));
      let extra = 0;
      const { client } = await open({
        on: {
          "tools/list": ({ params }) => {
            const at = Number(params?.cursor ?? 0);
            if (at === 20) return { tools: [tool("one more")] };
            return { tools: names, ...(at + 1 < 20 + extra && { nextCursor: String(at + 1) }) };
          },
        },
      });
      expect(await client.listTools()).toHaveLength(100_000);
      extra = 1;
      await expect(client.listTools()).rejects.toMatchObject({ code: "limit-reached" });
      expect(await client.listTools({ maxItems: 100_001 })).toHaveLength(100_001);
    },
  },
  {
    row: "C-J2",
    says: "a cursor of another connection is sent unchanged",
    on: stateless,
    async test({ open }) {
      const on = { "tools/list": () => ({ tools: [], nextCursor: "kept" }) };
      const first = await open({ on });
      const { nextCursor } = await first.client.request("tools/list");
      await first.client.close();
      const { client, server } = await open();
      await client.request("tools/list", { cursor: nextCursor as string });
      expect(cursorsOf(server)).toEqual(["kept"]);
    },
  },
  {
    row: "C-J15",
    says: "an invalid cursor restarts the list once",
    async test({ open }) {
      let isOld = true;
      const { client, server } = await open({
        on: {
          "tools/list": ({ params }) => {
            const cursor: string | undefined = params?.cursor;
            if (cursor === undefined) return { tools: [tool("a")], nextCursor: isOld ? "old" : "new", ttlMs: 60_000 };
            if (cursor === "new") return { tools: [tool("b")] };
            isOld = false;
            throw refusal(-32602, "Invalid cursor");
          },
        },
      });
      expect((await client.listTools()).map(({ name }) => name)).toEqual(["a", "b"]);
      expect(cursorsOf(server)).toEqual([undefined, "old", undefined, "new"]);
    },
  },
  {
    row: "C-J15",
    says: "a refused first page rejects, and so does a cursor that stays invalid",
    async test({ open }) {
      const { client, server } = await open({
        on: {
          "tools/list": ({ params }) => {
            if (params?.cursor === undefined) return { tools: [], nextCursor: "bad" };
            throw refusal(-32602, "Invalid cursor");
          },
          "prompts/list": () => {
            throw refusal(-32602, "No");
          },
        },
      });
      await expect(client.listTools()).rejects.toMatchObject({ code: -32602 });
      expect(cursorsOf(server)).toEqual([undefined, "bad", undefined, "bad"]);
      await expect(client.listPrompts()).rejects.toMatchObject({ code: -32602 });
      expect(server.of("prompts/list")).toHaveLength(1);
    },
  },
  {
    row: "C-J15",
    says: "each page expires by its own ttlMs",
    async test({ open, revision }) {
      const { client, server } = await open({
        on: {
          "tools/list": ({ params }) =>
            params?.cursor === undefined
              ? { tools: [tool("a")], nextCursor: "x", ttlMs: 60_000 }
              : { tools: [tool("b")], ttlMs: 0 },
        },
      });
      for (const _ of [1, 2]) expect(await client.listTools()).toHaveLength(2);
      expect(cursorsOf(server)).toEqual(
        isStateless(revision) ? [undefined, "x", "x"] : [undefined, "x", undefined, "x"],
      );
    },
  },
];
