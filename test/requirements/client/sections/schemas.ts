import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { JsonObject } from "portolan";
import { expect } from "vitest";
import { text } from "../kit/calls.ts";
import type { Requirement } from "../requirement.ts";

const tool = (name: string, outputSchema: JsonObject): JsonObject => ({
  name,
  inputSchema: { type: "object" },
  outputSchema,
});
const structured = ({ params }: { params?: { arguments: JsonObject } }) => ({
  content: [],
  structuredContent: params?.arguments,
});

/** Nests a value deeply enough to overflow a recursive function. */
function deep(levels: number, wrap: (inner: JsonObject) => JsonObject): JsonObject {
  let value: JsonObject = {};
  for (let level = 0; level < levels; level += 1) value = wrap(value);
  return value;
}

export const schemas: Requirement[] = [
  {
    row: "C-XG2",
    says: "an unusable schema rejects calls of its tool before they are sent, with the reason",
    async test({ open }) {
      const bad: { readonly [name: string]: JsonObject } = {
        external: { type: "object", properties: { x: { $ref: "https://example.com/x.json" } } },
        dangling: { $ref: "#/$defs/nowhere", type: "object" },
        dialect: { $schema: "http://json-schema.org/draft-04/schema#", type: "object" },
        nonsense: { type: "object", properties: { x: { type: "what" } } },
      };
      const listed = [
        ...Object.entries(bad).map(([name, schema]) => tool(name, schema)),
        tool("good", { type: "object" }),
      ];
      const { client, server } = await open({
        on: { "tools/list": () => ({ tools: listed }), "tools/call": structured },
      });
      expect(await client.listTools()).toEqual(listed);
      for (const name of Object.keys(bad)) {
        const message = expect.stringContaining(name);
        await expect(client.callTool(name), name).rejects.toMatchObject({ code: "invalid-definition", message });
      }
      expect(server.of("tools/call")).toEqual([]);
      expect(await client.callTool("good", { a: 1 })).toMatchObject({ structuredContent: { a: 1 } });
    },
  },
  {
    row: "C-I7",
    says: "each dialect is enforced by its own rules, and an unknown one is refused",
    async test({ open }) {
      const tuple = { type: "object", properties: { list: { prefixItems: [{ type: "string" }] } } };
      const old = { type: "object", properties: { list: { items: [{ type: "string" }] } } };
      const listed = [
        tool("usual", tuple),
        tool("named", { $schema: "https://json-schema.org/draft/2020-12/schema", ...tuple }),
        tool("draft-07", { $schema: "http://json-schema.org/draft-07/schema#", ...old }),
        tool("draft-04", { $schema: "http://json-schema.org/draft-04/schema#", ...old }),
      ];
      const { client } = await open({ on: { "tools/list": () => ({ tools: listed }), "tools/call": structured } });
      await client.listTools();
      for (const name of ["usual", "named", "draft-07"]) {
        expect(await client.callTool(name, { list: ["a", 1] })).toHaveProperty("structuredContent");
        await expect(client.callTool(name, { list: [1] }), name).rejects.toMatchObject({ code: "answer-invalid" });
      }
      await expect(client.callTool("draft-04")).rejects.toThrow("draft-04");
    },
  },
  {
    row: "C-I8",
    says: "references in input and output schemas are never fetched",
    async test({ open }) {
      let hits = 0;
      const web = createServer((_, response) => {
        hits += 1;
        response.end("{}");
      }).listen(0, "127.0.0.1");
      await once(web, "listening");
      const $ref = `http://127.0.0.1:${(web.address() as AddressInfo).port}/schema.json`;
      const listed = [
        { name: "input", inputSchema: { type: "object", properties: { x: { $ref } } } },
        tool("output", { type: "object", properties: { x: { $ref } } }),
      ];
      try {
        const { client } = await open({ on: { "tools/list": () => ({ tools: listed }) } });
        expect(await client.listTools()).toEqual(listed);
        await client.callTool("input", { x: 1 });
        await expect(client.callTool("output")).rejects.toThrow($ref);
        expect(hits).toBe(0);
      } finally {
        web.close();
      }
    },
  },
  {
    row: "C-I9",
    says: "a deeply nested value or schema rejects its call, and other calls work",
    async test({ open }) {
      const recursive = {
        $defs: { n: { type: "object", properties: { n: { $ref: "#/$defs/n" } } } },
        $ref: "#/$defs/n",
      };
      const listed = [
        tool("value", { type: "object", ...recursive }),
        tool(
          "schema",
          deep(2_000, (inner) => ({ type: "object", properties: { n: inner } })),
        ),
      ];
      const { client } = await open({
        on: {
          "tools/list": () => ({ tools: listed }),
          "tools/call": ({ params }) =>
            params.name === "plain" ? text("fine") : { content: [], structuredContent: deep(3_000, (n) => ({ n })) },
        },
      });
      await client.listTools();
      await expect(client.callTool("value")).rejects.toMatchObject({ code: "answer-invalid" });
      await expect(client.callTool("schema")).rejects.toMatchObject({ code: "invalid-definition" });
      expect(await client.callTool("plain")).toMatchObject(text("fine"));
    },
  },
];
