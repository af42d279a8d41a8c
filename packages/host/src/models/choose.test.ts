import { expect, test } from "vitest";
import { chooseModel, needsOf } from "./choose.ts";
import type { Model, ModelTraits } from "./model.ts";

const model = (id: string, traits?: ModelTraits, capabilities = {}): Model => ({
  id,
  capabilities: { tools: true, images: true, ...capabilities },
  ...(traits && { traits }),
  async *stream() {},
});
const small = model("acme-small", { cost: 1, speed: 0.9, intelligence: 0.2 });
const large = model("acme-large", { cost: 0.1, speed: 0.3, intelligence: 1 });
const local = model("Local-Llama", { cost: 1, speed: 0.2, intelligence: 0.3 }, { tools: false, images: false });
const plain = model("plain");
const all = [small, large, local, plain];
const chosen = (...args: Parameters<typeof chooseModel>) => chooseModel(...args)?.id;

test("the first hint that is part of a name counts, whatever the case", () => {
  expect(chosen(all, { hints: [{ name: "gpt" }, {}, { name: " " }, { name: "LLAMA" }, { name: "large" }] })).toBe(
    "Local-Llama",
  );
});

test("priorities decide among those that a hint names, and among all when none does", () => {
  expect(chosen(all, { hints: [{ name: "acme" }], intelligencePriority: 1 })).toBe("acme-large");
  expect(chosen(all, { hints: [{ name: "nobody" }], costPriority: 1, speedPriority: 1 })).toBe("acme-small");
  expect(chosen(all, { intelligencePriority: 0.9, costPriority: 0.1 })).toBe("acme-large");
});

test("without preferences, and among equals, the first of the list is taken", () => {
  expect(chosen(all)).toBe("acme-small");
  expect(chosen([plain, small], { costPriority: 0 })).toBe("plain");
  expect(chosen([])).toBeUndefined();
});

test("numbers out of bounds count as the nearest that is allowed", () => {
  expect(chosen(all, { intelligencePriority: 1e9, costPriority: -5, speedPriority: Number.NaN })).toBe("acme-large");
  expect(chosen(all, { intelligencePriority: 1e9, costPriority: 1, speedPriority: 1 })).toBe("acme-small");
});

test("a model that cannot do what is needed is not taken, hint or not", () => {
  expect(chosen([local, large], { hints: [{ name: "llama" }] }, { tools: true })).toBe("acme-large");
  expect(chosen(all, {}, { audio: true })).toBeUndefined();
});

test("what is needed is what the messages and tools hold; results can be put in words", () => {
  const image = { type: "image" as const, data: "", mimeType: "image/png" };
  const messages = [{ role: "user" as const, content: image }];
  expect(needsOf({ messages })).toEqual({ tools: false, images: true, audio: false });
  const results = [
    { role: "user" as const, content: [{ type: "tool_result" as const, toolUseId: "a", content: [image] }] },
  ];
  expect(needsOf({ messages: results, tools: [] })).toEqual({ tools: true, images: false, audio: false });
});
