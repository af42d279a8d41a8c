import { expect, onTestFinished, test } from "vitest";
import { connectInMemory } from "../../testing/index.ts";
import { createServer } from "../define/server.ts";

/** Serves a prompt and a resource that return the value, and collects what the server's author is told. */
async function returning(value: unknown) {
  const told: string[] = [];
  const server = createServer({ name: "s", version: "1" }, { onError: (error) => told.push(String(error)) })
    .prompt("plan", { get: () => value as string })
    .resource("note://today", { name: "today", read: () => value as string });
  const client = await connectInMemory(server);
  onTestFinished(() => client.close());
  return { client, told };
}

test.each([
  [{ text: "x" }, "an object without them"],
  [[{ role: "user", content: "x" }], "others"],
  [["x"], "others"],
  [undefined, "nothing"],
  [7, "number 7"],
])("a prompt that returns %j fails, and its author is told why", async (value, got) => {
  const { client, told } = await returning(value);
  await expect(client.getPrompt("plan")).rejects.toMatchObject({ code: -32603 });
  expect(told).toEqual([expect.stringContaining(`Prompt "plan": get: expected a text or messages such as`)]);
  expect(told[0]).toMatch(new RegExp(`got ${got}$`));
});

test.each([
  [{ celsius: 4 }, "others; for JSON return JSON.stringify(value)"],
  [{ contents: "x" }, "others; for JSON return JSON.stringify(value)"],
  [[{ uri: "note://today" }], "others; for JSON return JSON.stringify(value)"],
  [null, "null"],
  [7, "number 7"],
])("a resource that returns %j fails, and its author is told why", async (value, got) => {
  const { client, told } = await returning(value);
  await expect(client.readResource("note://today")).rejects.toMatchObject({ code: -32603 });
  expect(told).toEqual([expect.stringContaining(`Resource "note://today": read: expected a text, bytes, or contents`)]);
  expect(told[0]?.endsWith(`got ${got}`)).toBe(true);
});

test("the author of a resource that was meant as a template is told once, when a client does not find it", async () => {
  const told: string[] = [];
  const onError = (error: unknown) => told.push(String(error));
  const server = createServer({ name: "s", version: "1" }, { onError })
    .resource("note://{id}", { name: "note", read: () => "x" })
    .resource("note://motto", { name: "motto", read: () => "x" });
  const client = await connectInMemory(server);
  onTestFinished(() => client.close());
  for (const uri of ["note://1", "note://2"]) await expect(client.readResource(uri)).rejects.toThrow("not found");
  expect(told).toEqual([
    'PortolanError: Resource "note://{id}": only this text itself is found, with its braces; define it with .template(…)',
  ]);
});

test("a server that forwards the resources of others is not told of their braces", async () => {
  const told: string[] = [];
  const onError = (error: unknown) => told.push(String(error));
  const server = createServer({ name: "s", version: "1" }, { onError, leaveOutInvalid: true }).resource("note://{id}", {
    name: "note",
    read: () => "x",
  });
  const client = await connectInMemory(server);
  onTestFinished(() => client.close());
  await expect(client.readResource("note://1")).rejects.toThrow("not found");
  expect(told).toEqual([]);
});
