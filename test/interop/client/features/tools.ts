import { expect } from "vitest";
import { outcomeOf, type ServerFeature, textOf } from "../feature.ts";

export const toolFeatures: ServerFeature[] = [
  {
    name: "tools: list",
    async check({ client }, { version }) {
      const all = await client.listTools();
      const names = all.map(({ name }) => name);
      expect(names).toEqual(expect.arrayContaining(["echo", "add", "fail", "progress", "ask", "sample"]));
      expect(all.find(({ name }) => name === "echo")).toMatchObject({
        description: "Says it again",
        inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
      });
      const { outputSchema } = all.find(({ name }) => name === "add")!;
      if (version >= "2025-06-18") expect(outputSchema).toMatchObject({ properties: { sum: { type: "number" } } });
      const walked: string[] = [];
      for await (const { name } of client.tools()) walked.push(name);
      expect(walked).toEqual(names);
    },
  },
  {
    name: "tools: text",
    async check({ client }) {
      const { content, isError } = await client.callTool("echo", { text: "héllo ✓\nworld" });
      expect(content).toEqual([{ type: "text", text: "héllo ✓\nworld" }]);
      expect(isError).not.toBe(true);
    },
  },
  {
    name: "tools: structured",
    since: "2025-06-18",
    async check({ client }) {
      await client.listTools();
      const { structuredContent } = await client.callTool("add", { a: 2, b: 3 });
      expect(structuredContent).toEqual({ sum: 5 });
    },
  },
  {
    name: "tools: mixed content",
    async check({ client }) {
      const { content } = await client.callTool("mixed");
      expect(content.map(({ type }) => type)).toEqual(["text", "image", "resource", "text"]);
      expect(content[2]).toMatchObject({ resource: { uri: "note://1", text: "Note 1" } });
    },
  },
  {
    name: "tools: errors for the model",
    async check({ client }) {
      expect(await client.callTool("fail")).toMatchObject({ isError: true, content: [{ text: "Out of ink" }] });
      // Some servers report invalid arguments as a tool result, some as a protocol error.
      const refused = await outcomeOf(client.callTool("echo", { text: 7 }));
      expect(refused).toEqual({ hasFailed: true, text: expect.stringContaining("echo") });
    },
  },
  {
    name: "tools: unknown",
    async check({ client }) {
      const refused = await outcomeOf(client.callTool("nonesuch"));
      expect(refused).toEqual({ hasFailed: true, text: expect.stringContaining("nonesuch") });
    },
  },
  {
    name: "tools: many at once",
    async check({ client }) {
      const texts = Array.from({ length: 200 }, (_, index) => `call ${index}`);
      const results = await Promise.all(texts.map((text) => client.callTool("echo", { text })));
      expect(results.map(textOf)).toEqual(texts);
    },
  },
  {
    name: "tools: a large argument",
    async check({ client }) {
      const text = "0123456789abcdef✓".repeat(60_000);
      expect(textOf(await client.callTool("echo", { text }))).toBe(text);
    },
  },
  {
    name: "pages",
    async check({ client }, { open }) {
      const { client: paged } = await open({}, { env: { FIXTURE_PAGE_SIZE: "2" } });
      for (const list of ["listTools", "listResources", "listPrompts"] as const) {
        expect(await paged[list]()).toEqual(await client[list]());
      }
      expect(await paged.request("tools/list")).toMatchObject({ nextCursor: expect.any(String) });
      await expect(paged.listTools({ maxPages: 2, fresh: true })).rejects.toMatchObject({ code: "limit-reached" });
      await paged.close();
    },
  },
];
