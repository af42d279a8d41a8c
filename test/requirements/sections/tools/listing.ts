import { expect } from "vitest";
import { isStateless } from "../../../kit/revisions.ts";
import type { Requirement } from "../../requirement.ts";
import { isFrom, jsonOf, listAll, listedTool, members, offeredBy, textOf } from "../../results.ts";

const server = new URL("../../servers/tools.mjs", import.meta.url);
const bare = new URL("../../servers/bare.mjs", import.meta.url);

/** Tool lists. */
export const listing: readonly Requirement[] = [
  {
    row: "G1",
    says: "a server without tools has neither the capability nor the methods",
    async test(open) {
      const [peer, without] = await Promise.all([open(), open({ server: bare })]);
      expect((await offeredBy(peer)).tools).toEqual({ listChanged: true });
      expect((await peer.request("tools/list")).result.tools.length).toBeGreaterThan(0);
      expect(await offeredBy(without)).toEqual({});
      expect((await without.request("tools/list")).error).toMatchObject({ code: -32601 });
      expect((await without.request("tools/call", { name: "add" })).error).toMatchObject({ code: -32601 });
    },
  },
  {
    row: "G2",
    says: "a listed entry has exactly the members of the revision",
    async test(open, { revision }) {
      const peer = await open();
      const wanted = ["description", "inputSchema", "name"];
      if (isFrom(revision, "2025-03-26")) wanted.push("annotations");
      if (isFrom(revision, "2025-06-18")) wanted.push("_meta", "outputSchema", "title");
      if (isFrom(revision, "2025-11-25")) wanted.push("icons");
      const add = await listedTool(peer, "add");
      expect(members(add)).toEqual(wanted.sort());
      expect(add).toMatchObject({ name: "add", description: "Adds two numbers", inputSchema: { type: "object" } });
      if (isFrom(revision, "2025-06-18"))
        expect(add).toMatchObject({ title: "Add", _meta: { "example.com/note": "kept" } });
      if (isFrom(revision, "2025-11-25")) {
        expect(add.icons).toEqual([{ src: "https://example.com/icon.png", mimeType: "image/png", sizes: ["48x48"] }]);
      }
      expect(members(await listedTool(peer, "fails"))).toEqual(["inputSchema", "name"]);
    },
  },
  {
    row: "G3",
    says: "an author's JSON Schema is listed unchanged and enforced",
    async test(open) {
      const peer = await open({ server });
      const { inputSchema } = await listedTool(peer, "verbatim");
      expect(inputSchema).toEqual({
        $schema: "https://json-schema.org/draft/2020-12/schema",
        type: "object",
        properties: {
          pair: { type: "array", prefixItems: [{ type: "string" }, { $ref: "#/$defs/count" }], items: false },
          kind: { enum: ["a", "b"], "x-vendor": { kept: true } },
        },
        required: ["pair"],
        additionalProperties: false,
        if: { properties: { kind: { const: "b" } }, required: ["kind"] },
        then: { properties: { pair: { minItems: 2 } } },
        $defs: { count: { $anchor: "count", type: "integer", minimum: 0 } },
      });
      expect((await listedTool(peer, "plain")).inputSchema).toEqual({ type: "object" });
      expect(jsonOf(await peer.callTool("verbatim", { pair: ["x", 1] }))).toEqual({ pair: ["x", 1] });
      for (const wrong of [
        { pair: ["x", -1] },
        { pair: ["x"], kind: "b" },
        { pair: ["x", 1, 2] },
        { pair: [], more: 1 },
        {},
      ]) {
        const { result } = await peer.callTool("verbatim", wrong);
        expect(result.isError, JSON.stringify(wrong)).toBe(true);
      }
    },
  },
  {
    row: "G4",
    says: "object schemas are listed since 2025-06-18, other schemas since 2026-07-28 and wrapped before",
    async test(open, { revision }) {
      const peer = await open({ server });
      const [zero, referring, objectOutput] = [
        await listedTool(peer, "zero"),
        await listedTool(peer, "referring"),
        await listedTool(peer, "object_output"),
      ];
      if (!isFrom(revision, "2025-06-18")) {
        for (const tool of [zero, referring, objectOutput]) expect(tool).not.toHaveProperty("outputSchema");
        return;
      }
      expect(objectOutput.outputSchema).toMatchObject({ type: "object", properties: { ok: { type: "boolean" } } });
      const row = { type: "object", properties: { id: { type: "integer" } }, required: ["id"] };
      if (isStateless(revision)) {
        expect(zero.outputSchema).toMatchObject({ type: "number" });
        expect(referring.outputSchema).toEqual({ $defs: { row }, type: "array", items: { $ref: "#/$defs/row" } });
      } else {
        expect(zero.outputSchema).toMatchObject({
          type: "object",
          properties: { result: { type: "number" } },
          required: ["result"],
        });
        expect(referring.outputSchema).toEqual({
          type: "object",
          properties: { result: { type: "array", items: { $ref: "#/$defs/row" } } },
          required: ["result"],
          $defs: { row },
        });
      }
    },
  },
  {
    row: "G6",
    says: "annotations are sent as given, and none are added",
    async test(open, { revision }) {
      const peer = await open({ server });
      const hinted = await listedTool(peer, "hinted");
      const wanted = { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false };
      if (isFrom(revision, "2025-03-26")) expect(hinted.annotations).toEqual(wanted);
      else expect(hinted).not.toHaveProperty("annotations");
      expect(await listedTool(peer, "plain")).not.toHaveProperty("annotations");
    },
  },
  {
    row: "G7",
    says: "title and annotations.title are both listed",
    async test(open) {
      const peer = await open({ server });
      const titled = await listedTool(peer, "titled");
      expect([titled.title, titled.annotations.title, titled.name]).toEqual(["The title", "The hint", "titled"]);
    },
  },
  {
    row: "G8",
    says: "names that differ only in case are two tools",
    async test(open) {
      const peer = await open({ server });
      const names = (await listAll(peer, "tools/list", "tools")).map(({ name }) => name);
      expect(new Set(names).size).toBe(names.length);
      expect(textOf(await peer.callTool("plain"))).toBe("plain");
      expect(textOf(await peer.callTool("Plain"))).toBe("another");
      expect((await peer.callTool("PLAIN")).error).toMatchObject({ code: -32602 });
    },
  },
  {
    row: "G9",
    says: "three changes in one turn cause one notification, no change causes none",
    async test(open, { revision }) {
      const peer = await open({ server });
      const method = "notifications/tools/list_changed";
      let _meta = {};
      if (isStateless(revision)) {
        await peer.callTool("burst");
        await peer.settled();
        expect(peer.notifications).toEqual([]);
        peer.send({
          jsonrpc: "2.0",
          id: "l",
          method: "subscriptions/listen",
          params: peer.describe({ notifications: { toolsListChanged: true } }),
        });
        await peer.notification("notifications/subscriptions/acknowledged");
        _meta = { _meta: { "io.modelcontextprotocol/subscriptionId": "l" } };
      }
      const received = () => peer.notifications.filter((notification) => notification.method === method);
      await peer.callTool("no_change");
      await peer.settled();
      expect(received()).toEqual([]);
      await peer.callTool("burst");
      await peer.settled();
      expect(received()).toEqual([{ jsonrpc: "2.0", method, params: { ..._meta } }]);
      expect((await listAll(peer, "tools/list", "tools")).map(({ name }) => name)).toContain("made_2");
    },
  },
  {
    row: "G10",
    says: "calls and capabilities of one client do not change lists",
    async test(open) {
      const capabilities = { elicitation: {}, sampling: {}, roots: {} };
      const [peer, other] = await Promise.all([
        open(),
        open({ capabilities, clientInfo: { name: "other", version: "9" } }),
      ]);
      const before = await listAll(peer, "tools/list", "tools");
      await peer.callTool("add", { a: 1, b: 2 });
      await peer.callTool("nowhere");
      expect(await listAll(peer, "tools/list", "tools")).toEqual(before);
      expect(await listAll(other, "tools/list", "tools")).toEqual(before);
    },
  },
  {
    row: "G11",
    says: "tools are sorted by name over all pages",
    async test(open) {
      const peer = await open({ server });
      const names = (await listAll(peer, "tools/list", "tools")).map(({ name }) => name);
      expect(names.length).toBeGreaterThan(6);
      expect(names).toEqual([...names].sort());
      expect((await peer.request("tools/list")).result.tools).toHaveLength(3);
    },
  },
];
