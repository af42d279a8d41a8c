import { expect, test } from "vitest";
import { findHarmless, findTool } from "./hints.ts";

const takes = (...names: string[]) => ({
  type: "object",
  properties: Object.fromEntries(names.map((name) => [name, {}])),
  required: names,
});

test("finds a tool by its name and arguments", () => {
  const byText = [{ name: "echo", inputSchema: takes("text") }];
  expect(findTool("echo", {}, byText)).toMatchObject({ name: "echo", arguments: { text: expect.any(String) } });
  const byMessage = [{ name: "echo", inputSchema: takes("message") }];
  expect(findTool("echo", {}, byMessage)).toMatchObject({ arguments: { message: expect.any(String) } });
});

test("ignores a tool with a known name that requires other arguments", () => {
  expect(findTool("echo", {}, [{ name: "echo", inputSchema: takes("message", "volume") }])).toBeUndefined();
  expect(findTool("echo", {}, [{ name: "echo" }, null, "echo"])).toBeUndefined();
});

test("prefers a hint to known names, and accepts false for none", () => {
  const tools = [{ name: "echo", inputSchema: takes("text") }, { name: "parrot" }];
  expect(findTool("echo", { echo: { name: "parrot" } }, tools)).toEqual({ name: "parrot" });
  expect(findTool("echo", { echo: { name: "absent" } }, tools)).toBeUndefined();
  expect(findTool("echo", { echo: false }, tools)).toBeUndefined();
});

test("calls a destructive tool only if it is named", () => {
  const tools = [{ name: "change", inputSchema: takes(), annotations: { destructiveHint: true } }];
  expect(findTool("update", {}, tools)).toBeUndefined();
  expect(findTool("update", {}, tools, ["change"])).toMatchObject({ name: "change" });
});

test("takes only test tools, read-only tools and named ones for harmless", () => {
  const wipe = { name: "wipe", inputSchema: takes(), annotations: { destructiveHint: true } };
  const send = { name: "send", inputSchema: takes() };
  const look = { name: "look", annotations: { readOnlyHint: true } };
  expect(findHarmless({}, [wipe, send])).toBeUndefined();
  expect(findHarmless({}, [wipe, send, look])).toBe("look");
  expect(findHarmless({}, [wipe, send, { name: "echo", inputSchema: takes("text") }])).toBe("echo");
  expect(findHarmless({}, [wipe, send], ["send", "absent"])).toBe("send");
});
