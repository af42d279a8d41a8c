import { expect, test } from "vitest";
import { chooseModel, requirementsOf } from "./choose.ts";
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

test("uses the first hint that is part of an id, ignoring case", () => {
  expect(chosen(all, { hints: [{ name: "gpt" }, {}, { name: " " }, { name: "LLAMA" }, { name: "large" }] })).toBe(
    "Local-Llama",
  );
});

test("uses priorities among the models of a hint, or among all if no hint matches", () => {
  expect(chosen(all, { hints: [{ name: "acme" }], intelligencePriority: 1 })).toBe("acme-large");
  expect(chosen(all, { hints: [{ name: "nobody" }], costPriority: 1, speedPriority: 1 })).toBe("acme-small");
  expect(chosen(all, { intelligencePriority: 0.9, costPriority: 0.1 })).toBe("acme-large");
});

test("chooses the first model without preferences, and among equals", () => {
  expect(chosen(all)).toBe("acme-small");
  expect(chosen([plain, small], { costPriority: 0 })).toBe("plain");
  expect(chosen([])).toBeUndefined();
});

test("clamps priorities to 0–1", () => {
  expect(chosen(all, { intelligencePriority: 1e9, costPriority: -5, speedPriority: Number.NaN })).toBe("acme-large");
  expect(chosen(all, { intelligencePriority: 1e9, costPriority: 1, speedPriority: 1 })).toBe("acme-small");
});

test("never chooses a model without a required capability", () => {
  expect(chosen([local, large], { hints: [{ name: "llama" }] }, { tools: true })).toBe("acme-large");
  expect(chosen(all, {}, { audio: true })).toBeUndefined();
});

test("derives requirements from messages and tools, but not from media in results", () => {
  const image = { type: "image" as const, data: "", mimeType: "image/png" };
  const messages = [{ role: "user" as const, content: image }];
  expect(requirementsOf({ messages })).toEqual({ tools: false, images: true, audio: false });
  const results = [
    { role: "user" as const, content: [{ type: "tool_result" as const, toolUseId: "a", content: [image] }] },
  ];
  expect(requirementsOf({ messages: results, tools: [] })).toEqual({ tools: true, images: false, audio: false });
});
