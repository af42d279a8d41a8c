import type { JsonObject } from "portolan";
import { expect } from "vitest";
import { metaKey } from "../../../kit/raw-peer.ts";
import { isStateless, stateless } from "../../../kit/revisions.ts";
import { round, text, textOf } from "../kit/calls.ts";
import { refusal } from "../kit/scripted-server.ts";
import type { Requirement } from "../requirement.ts";

const anything = { type: "object" };
const tool = (name: string, more: JsonObject = {}): JsonObject => ({ name, inputSchema: anything, ...more });
const sum = { type: "object", properties: { sum: { type: "number" } }, required: ["sum"] };
const full = {
  name: "full",
  title: "Full",
  description: "Everything",
  inputSchema: { type: "object" },
  outputSchema: { type: "object" },
  annotations: { title: "F", readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  icons: [{ src: "data:image/png;base64,AAAA" }],
  execution: { taskSupport: "optional" },
  _meta: { "example.com/x": [1] },
};

export const tools: Requirement[] = [
  {
    row: "C-G1",
    says: "declared tools are listed and called with their arguments; undeclared ones are not listed",
    async test({ open }) {
      const on = { "tools/list": () => ({ tools: [tool("a"), tool("b")] }) };
      const { client, server } = await open({ on, offers: { tools: {} } });
      expect((await client.listTools()).map(({ name }) => name)).toEqual(["a", "b"]);
      await client.callTool("a", { n: 1, nested: { list: [null, "x"] } });
      await client.callTool("b");
      expect(server.of("tools/call").map(({ params: { _meta, ...params } }) => params)).toEqual([
        { name: "a", arguments: { n: 1, nested: { list: [null, "x"] } } },
        { name: "b", arguments: {} },
      ]);
      const none = await open({ offers: {} });
      expect(await none.client.listTools()).toEqual([]);
    },
  },
  {
    row: "C-G2",
    says: "every member of a tool is listed as sent",
    async test({ open }) {
      const { client } = await open({ on: { "tools/list": () => ({ tools: [full, tool("bare")] }) } });
      expect(await client.listTools()).toEqual([full, tool("bare")]);
    },
  },
  {
    row: "C-G3",
    says: "all keywords of an input schema keep their order",
    async test({ open }) {
      const inputSchema = {
        $schema: "https://json-schema.org/draft/2020-12/schema",
        type: "object",
        $defs: { name: { $anchor: "name", type: "string", "x-hint": true } },
        properties: { who: { $ref: "#name" }, list: { prefixItems: [{ const: null }], items: false } },
        if: { required: ["who"] },
        then: { dependentRequired: { who: ["list"] } },
        allOf: [{ not: { required: ["z"] } }],
        additionalProperties: false,
        unevaluatedProperties: false,
      };
      const { client } = await open({ on: { "tools/list": () => ({ tools: [{ name: "a", inputSchema }] }) } });
      const [listed] = await client.listTools();
      expect(JSON.stringify(listed!.inputSchema)).toBe(JSON.stringify(inputSchema));
    },
  },
  {
    row: "C-G4",
    says: "structured content of any type is checked once the tool has been listed",
    async test({ open, revision }) {
      const kinds: [schema: JsonObject, good: unknown, bad: unknown][] = [
        [sum, { sum: 1.5, more: true }, { sum: "1" }],
        ...(isStateless(revision)
          ? ([
              [{ type: "array", items: { type: "integer" } }, [1, 2], [1, "2"]],
              [{ type: "null" }, null, {}],
              [{ enum: ["a", 0, false] }, false, true],
              [{ $ref: "#/$defs/x", $defs: { x: { type: "string" } } }, "", 1],
            ] as [JsonObject, unknown, unknown][])
          : []),
      ];
      const listed = kinds.map(([outputSchema], index) => tool(`t${index}`, { outputSchema }));
      const { client } = await open({
        on: {
          "tools/list": () => ({ tools: listed }),
          "tools/call": ({ params }) => ({ content: [], structuredContent: params.arguments.value }),
        },
      });
      expect(await client.callTool("t0", { value: { sum: "unknown yet" } })).toHaveProperty("structuredContent");
      expect(await client.listTools()).toEqual(listed);
      for (const [index, [, good, bad]] of kinds.entries()) {
        const { structuredContent } = await client.callTool(`t${index}`, { value: good });
        expect(structuredContent).toEqual(good);
        const failing = client.callTool(`t${index}`, { value: bad });
        await expect(failing, JSON.stringify(bad)).rejects.toMatchObject({ code: "answer-invalid" });
      }
    },
  },
  {
    row: "C-G5",
    says: "content that does not match rejects with its path; a failed call needs no structured content",
    async test({ open }) {
      const results: JsonObject[] = [
        { content: [], structuredContent: { sum: 3 } },
        { content: [{ type: "text", text: "no number" }], isError: true },
        { content: [], structuredContent: { sum: "3" } },
        { content: [{ type: "text", text: '{"sum":3}' }] },
      ];
      const { client } = await open({
        on: {
          "tools/list": () => ({ tools: [tool("add", { outputSchema: sum })] }),
          "tools/call": ({ params }) => results[params.arguments.n],
        },
      });
      await client.listTools();
      expect(await client.callTool("add", { n: 0 })).toMatchObject(results[0]!);
      expect(await client.callTool("add", { n: 1 })).toMatchObject(results[1]!);
      const wrong = expect.stringMatching(/add.*structuredContent\.sum/);
      await expect(client.callTool("add", { n: 2 })).rejects.toMatchObject({ code: "answer-invalid", message: wrong });
      const missing = expect.stringMatching(/add.*returned no structured content/);
      await expect(client.callTool("add", { n: 3 })).rejects.toMatchObject({
        code: "answer-invalid",
        message: missing,
      });
    },
  },
  {
    row: "C-G5",
    says: "falsy structured values are kept",
    on: stateless,
    async test({ open }) {
      const { client } = await open({
        on: {
          "tools/list": () => ({
            tools: [tool("t", { outputSchema: { type: ["number", "string", "boolean", "null"] } })],
          }),
          "tools/call": ({ params }) => ({ content: [], structuredContent: params.arguments.value }),
        },
      });
      await client.listTools();
      for (const value of [0, "", false, null]) {
        expect((await client.callTool("t", { value })).structuredContent).toBe(value);
      }
    },
  },
  {
    row: "C-G6",
    says: "each annotation is listed as given",
    async test({ open }) {
      const listed = [tool("a", { annotations: { readOnlyHint: true, later: 1 } }), tool("b")];
      const { client } = await open({ on: { "tools/list": () => ({ tools: listed }) } });
      expect(await client.listTools()).toEqual(listed);
    },
  },
  {
    row: "C-G8",
    says: "tool names of any case and characters are sent unchanged",
    async test({ open }) {
      const names = ["Case", "case", "a.b-c_D/9", "名", "with space", "", "x".repeat(300)];
      const { client } = await open({ on: { "tools/call": ({ params }) => text(params.name) } });
      for (const name of names) expect(textOf(await client.callTool(name))).toBe(name);
    },
  },
  {
    row: "C-G9",
    says: "a watch reports the change, and the next list is requested again",
    async test({ open, revision }) {
      let names = ["a"];
      const on = { "tools/list": () => ({ tools: names.map((name) => tool(name)), ttlMs: 60_000 }) };
      const { client, server } = await open({ on });
      const watch = await client.watch({ tools: true });
      expect(await client.listTools()).toHaveLength(1);
      names = ["a", "b"];
      const _meta = { [metaKey("subscriptionId")]: server.of("subscriptions/listen")[0]?.id };
      server.notify("notifications/tools/list_changed", isStateless(revision) ? { _meta } : undefined);
      for await (const change of watch) {
        expect(change).toEqual({ kind: "tools" });
        break;
      }
      expect(await client.listTools()).toHaveLength(2);
    },
  },
  {
    row: "C-G11",
    says: "the order of the server is kept over all pages",
    async test({ open }) {
      const pages = [["z", "a"], ["m"], [], ["b", "B"]];
      const { client } = await open({
        on: {
          "tools/list": ({ params }) => {
            const at = Number(params?.cursor ?? 0);
            return { tools: pages[at]!.map((name) => tool(name)), ...(at < 3 && { nextCursor: String(at + 1) }) };
          },
        },
      });
      expect((await client.listTools()).map(({ name }) => name)).toEqual(["z", "a", "m", "b", "B"]);
    },
  },
  {
    row: "C-G12",
    says: "an unknown tool rejects with the server's error",
    async test({ open }) {
      const { client } = await open({
        on: {
          "tools/call": ({ params }) => {
            throw refusal(-32602, `Unknown tool: ${params.name}`);
          },
        },
      });
      const expected = { name: "RpcError", code: -32602, message: "Unknown tool: nope" };
      await expect(client.callTool("nope")).rejects.toMatchObject(expected);
    },
  },
  {
    row: "C-G13",
    says: "arguments are not checked in the client; the server's result or error is passed on",
    async test({ open }) {
      const result = { ...text("a: expected a number"), isError: true };
      const { client, server } = await open({
        on: {
          "tools/list": () => ({ tools: [tool("add", { inputSchema: { type: "object", required: ["a"] } })] }),
          "tools/call": ({ params }) => {
            if (params.arguments.a === undefined) return result;
            throw refusal(-32602, "Invalid params");
          },
        },
      });
      await client.listTools();
      expect(await client.callTool("add")).toMatchObject(result);
      await expect(client.callTool("add", { a: 1 })).rejects.toMatchObject({ code: -32602 });
      expect(server.of("tools/call")).toHaveLength(2);
    },
  },
  {
    row: "C-G14",
    says: "a failed tool resolves with isError and its content",
    async test({ open }) {
      const result = {
        content: [
          { type: "text", text: "No such city" },
          { type: "text", text: "Try again" },
        ],
        isError: true,
      };
      const { client } = await open({ on: { "tools/call": () => result } });
      expect(await client.callTool("weather")).toMatchObject(result);
    },
  },
  {
    row: "C-G19",
    says: "a tool that asks first resolves only to its result",
    async test({ open }) {
      const { client } = await open({
        answers: { roots: [] },
        on: {
          "tools/call": ({ params }) =>
            params.inputResponses ? text("after") : round({ q: { method: "roots/list" } }),
        },
      });
      expect(await client.callTool("a")).toEqual({ resultType: "complete", ...text("after") });
    },
  },
];
