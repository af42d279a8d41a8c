import { expect, test } from "vitest";
import { findTool } from "./hints.ts";

const takes = (...names: string[]) => ({
  type: "object",
  properties: Object.fromEntries(names.map((name) => [name, {}])),
  required: names,
});

test("a tool is known by its name and what it takes", () => {
  const byText = [{ name: "echo", inputSchema: takes("text") }];
  expect(findTool("echo", {}, byText)).toMatchObject({ name: "echo", arguments: { text: expect.any(String) } });
  const byMessage = [{ name: "echo", inputSchema: takes("message") }];
  expect(findTool("echo", {}, byMessage)).toMatchObject({ arguments: { message: expect.any(String) } });
});

test("a tool of a known name that needs something else is another one", () => {
  expect(findTool("echo", {}, [{ name: "echo", inputSchema: takes("message", "volume") }])).toBeUndefined();
  expect(findTool("echo", {}, [{ name: "echo" }, null, "echo"])).toBeUndefined();
});

test("a hint wins over known names, and false over both", () => {
  const tools = [{ name: "echo", inputSchema: takes("text") }, { name: "parrot" }];
  expect(findTool("echo", { echo: { name: "parrot" } }, tools)).toEqual({ name: "parrot" });
  expect(findTool("echo", { echo: { name: "absent" } }, tools)).toBeUndefined();
  expect(findTool("echo", { echo: false }, tools)).toBeUndefined();
});
