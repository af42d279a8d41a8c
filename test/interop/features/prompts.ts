import { expect } from "vitest";
import type { Feature } from "../feature.ts";

export const promptFeatures: Feature[] = [
  {
    name: "prompts: list",
    async check(peer) {
      const { all } = await peer.listPrompts();
      expect(all.map(({ name }) => name)).toEqual(["asks", "greet", "rich"]);
      expect(all[1]).toMatchObject({
        description: "Greets somebody",
        arguments: [{ name: "name", required: true, description: "Whom" }, { name: "tone" }],
      });
    },
  },
  {
    name: "prompts: get",
    async check(peer) {
      const { messages, description } = await peer.getPrompt("greet", { name: "Ada", tone: "friendly" });
      expect(description).toBe("Greets somebody");
      const text = "Greet Ada in a friendly tone";
      expect(messages).toEqual([{ role: "user", content: { type: "text", text } }]);
      expect(await peer.getPrompt("rich")).toMatchObject({
        messages: [
          { role: "user", content: { type: "image", mimeType: "image/png" } },
          { role: "assistant", content: { type: "resource", resource: { text: "Note 1" } } },
        ],
      });
    },
  },
  {
    name: "prompts: refused",
    async check(peer) {
      await expect(peer.getPrompt("greet", { tone: "formal" })).rejects.toMatchObject({ code: -32602 });
      await expect(peer.getPrompt("nonesuch")).rejects.toMatchObject({ code: -32602 });
    },
  },
  {
    name: "prompts: completion",
    async check(peer) {
      const ref = { type: "ref/prompt", name: "greet" };
      const names = await peer.complete({ ref, argument: { name: "name", value: "a" } });
      expect(names.completion.values).toEqual(["Ada", "Alan"]);
      const tones = await peer.complete({ ref, argument: { name: "tone", value: "fo" } });
      expect(tones.completion.values).toEqual(["formal"]);
    },
  },
];
