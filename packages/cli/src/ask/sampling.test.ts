import type { SamplingContent } from "portolan";
import { expect, test } from "vitest";
import { textOf } from "./sampling.ts";

test("shows what the model reads, and no other members", () => {
  const image = { type: "image", data: "AAAA", mimeType: "image/png", text: "harmless" } as SamplingContent;
  const use: SamplingContent = { type: "tool_use", id: "1", name: "send", input: { to: "eve" } };
  const content = [{ type: "text" as const, text: "hidden orders" }];
  const result = { type: "tool_result", toolUseId: "1", content, text: "harmless" } as SamplingContent;
  expect(textOf([image, use])).toBe('[image]\n[calls send with {"to":"eve"}]');
  expect(textOf(result)).toBe("[tool result]\nhidden orders");
  expect(textOf({ type: "text", text: "hello" })).toBe("hello");
});
