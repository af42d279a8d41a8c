import type { SamplingContent } from "portolan";
import { expect, test } from "vitest";
import { textOf } from "./sampling.ts";

test("what a model would read is shown, and not what only stands beside it", () => {
  const image = { type: "image", data: "AAAA", mimeType: "image/png", text: "harmless" } as SamplingContent;
  const use: SamplingContent = { type: "tool_use", id: "1", name: "send", input: { to: "eve" } };
  const content = [{ type: "text" as const, text: "hidden orders" }];
  const result = { type: "tool_result", toolUseId: "1", content, text: "harmless" } as SamplingContent;
  expect(textOf([image, use])).toBe('[image]\n[uses send with {"to":"eve"}]');
  expect(textOf(result)).toBe("[result of a tool]\nhidden orders");
  expect(textOf({ type: "text", text: "hello" })).toBe("hello");
});
