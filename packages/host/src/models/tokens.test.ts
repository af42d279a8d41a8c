import { expect, test } from "vitest";
import { cutToTokens, estimateTokens } from "./tokens.ts";

test("counts text by its length, in whole tokens", () => {
  expect(estimateTokens("")).toBe(0);
  expect(estimateTokens("x")).toBe(1);
  expect(estimateTokens("x".repeat(360))).toBe(100);
  expect(estimateTokens(cutToTokens("x".repeat(360), 7))).toBe(7);
});

test("counts each image the same, and audio by its length", () => {
  const image = (size: number) => ({ type: "image" as const, data: "A".repeat(size), mimeType: "image/png" });
  expect(estimateTokens(image(10))).toBe(estimateTokens(image(1_000_000)));
  const audio = (size: number) => ({ type: "audio" as const, data: "A".repeat(size), mimeType: "audio/wav" });
  expect(estimateTokens(audio(60_000))).toBe(10 * estimateTokens(audio(6_000)));
});

test("counts a conversation with its calls, results and tools", () => {
  const text = "x".repeat(36);
  const messages = [
    { role: "user" as const, content: { type: "text" as const, text } },
    { role: "assistant" as const, content: [{ type: "tool_use" as const, id: "a", name: "t", input: { text } }] },
    {
      role: "user" as const,
      content: [{ type: "tool_result" as const, toolUseId: "a", content: [{ type: "text" as const, text }] }],
    },
  ];
  const tools = [{ name: "t", description: text, inputSchema: { type: "object" } }];
  expect(estimateTokens(messages)).toBeGreaterThan(30);
  expect(estimateTokens([messages, tools])).toBe(estimateTokens(messages) + estimateTokens(tools));
  expect(estimateTokens({ type: "resource_link", name: "n", uri: "file:///n" })).toBeGreaterThan(5);
});

test("uses a custom count function", () => {
  const words = (text: string) => text.split(" ").length;
  expect(estimateTokens([{ type: "text", text: "one two" }, "three"], words)).toBe(3);
});
