import { RpcError } from "portolan";
import { expect } from "vitest";
import type { ServerFeature } from "../feature.ts";

const greet = { type: "ref/prompt", name: "greet" } as const;

export const promptFeatures: ServerFeature[] = [
  {
    name: "prompts: list",
    async check({ client }) {
      const [prompt] = await client.listPrompts();
      expect(prompt).toMatchObject({
        name: "greet",
        description: "Greets somebody",
        arguments: [{ name: "name", required: true, description: "Whom" }, { name: "tone" }],
      });
    },
  },
  {
    name: "prompts: get",
    async check({ client }) {
      const { messages } = await client.getPrompt("greet", { name: "Ada", tone: "friendly" });
      const text = "Greet Ada in a friendly tone";
      expect(messages).toEqual([{ role: "user", content: { type: "text", text } }]);
      expect(await client.getPrompt("greet", { name: "Alan" })).toMatchObject({
        messages: [{ content: { text: "Greet Alan" } }],
      });
    },
  },
  {
    name: "prompts: refused",
    async check({ client }) {
      await expect(client.getPrompt("greet", { tone: "formal" })).rejects.toThrow(RpcError);
      await expect(client.getPrompt("nonesuch")).rejects.toThrow("nonesuch");
    },
  },
  {
    name: "completion: of a prompt",
    async check({ client }) {
      expect(await client.complete(greet, { name: "name", value: "a" })).toMatchObject({ values: ["Ada", "Alan"] });
    },
  },
  {
    name: "completion: of a template",
    async check({ client }) {
      const note = { type: "ref/resource", uri: "note://{id}" } as const;
      expect(await client.complete(note, { name: "id", value: "1" })).toMatchObject({ values: ["1", "10", "11"] });
    },
  },
  {
    name: "completion: in context",
    since: "2025-06-18",
    async check({ client }) {
      const complete = (name: string) =>
        client.complete(greet, { name: "tone", value: "f" }, { known: { name } }).then(({ values }) => values);
      expect(await complete("Ada")).toEqual(["formal", "friendly"]);
      expect(await complete("Alan")).toEqual([]);
    },
  },
];
