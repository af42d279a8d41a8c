import { expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { createMemoryPair } from "../../jsonrpc/memory.ts";
import { connectInMemory } from "../../testing/index.ts";
import { serveChannel } from "../channel/serve-channel.ts";
import type { ToolDefinition } from "./definition.ts";
import { createServer, live } from "./server.ts";

const run = () => "";

/** Starts a server with one tool, and returns the messages that its `onError` received once it has the last tool's. */
async function warningsFor(input: ToolDefinition<unknown, unknown, undefined>["input"] & {}): Promise<string[]> {
  const messages: string[] = [];
  const server = createServer({ name: "s", version: "1" }, { onError: (error) => messages.push(String(error)) })
    .tool("first", { input, run })
    // Its warning comes last, so that the others have come before.
    .tool("last", { input: { type: "object", properties: { x: { type: "string", pattern: "(a+)+$" } } }, run });
  const client = await connectInMemory(server);
  onTestFinished(() => client.close());
  await vi.waitUntil(() => messages.some((message) => message.includes('"last"')));
  return messages.filter((message) => message.includes('"first"'));
}

const text = (pattern: string, more = {}) => ({
  type: "object",
  properties: { x: { type: "string", pattern, ...more } },
});

test.each(["^(a+)+$", "^([a-z]+)*$", "(.*)*x", "^(\\w+\\s?)*$", "^(-[a-z-]+)*$", "(a|a)*b"])(
  "the author of the pattern %s is warned when the server starts",
  async (pattern) => {
    expect(await warningsFor(text(pattern))).toEqual([
      expect.stringContaining(
        `Tool "first": input: properties/x: the pattern ${JSON.stringify(pattern)} repeats a group`,
      ),
    ]);
  },
);

test.each(["^[a-z]+$", "^[a-z0-9]+(?:-[a-z0-9]+)*$", "^\\d{4}-\\d{2}-\\d{2}$", "^v\\d+(\\.\\d+)*$", "^(a|b)+$"])(
  "the pattern %s is not warned about",
  async (pattern) => {
    expect(await warningsFor(text(pattern))).toEqual([]);
  },
);

/** A schema that counts how often its JSON text is made. */
function countedSchema(count: () => void) {
  const jsonSchema = { type: "object", properties: { x: { type: "string", pattern: "(a+)+$" } } };
  Object.defineProperty(jsonSchema, "toJSON", {
    value() {
      count();
      return { ...jsonSchema };
    },
  });
  const validate = (value: unknown) => ({ value: value as { x?: string } });
  const convert = { input: () => jsonSchema, output: () => jsonSchema };
  return { "~standard": { version: 1, vendor: "test", validate, jsonSchema: convert } } as const;
}

test("the patterns of thousands of tools are judged in several turns, so that requests are answered in between", async () => {
  const messages: string[] = [];
  let judged = 0;
  let server = createServer({ name: "s", version: "1" }, { onError: (error) => messages.push(String(error)) });
  const input = countedSchema(() => {
    judged += 1;
  });
  for (let index = 0; index < 2_000; index += 1) server = server.tool(`tool-${index}`, { input, run });
  judged = 0;
  const [, far] = createMemoryPair();
  const serving = serveChannel(server, far);
  onTestFinished(() => serving.close());
  for (let microtask = 0; microtask < 100; microtask += 1) await undefined;
  expect(judged).toBeGreaterThan(0);
  expect(judged).toBeLessThan(1_000);
  await vi.waitUntil(() => messages.length === 2_000, { timeout: 10_000 });
  expect(messages.at(-1)).toContain('Tool "tool-1999": input: properties/x: the pattern');
});

test("a pattern for short texts is not warned about", async () => {
  expect(await warningsFor(text("^(a+)+$", { maxLength: 10 }))).toEqual([]);
});

test("patterns of zod schemas are judged, but not those of its own formats", async () => {
  const input = z.object({ mail: z.email(), id: z.uuid(), x: z.string().regex(/^(a+)+$/) });
  expect(await warningsFor(input)).toEqual([expect.stringContaining("properties/x: the pattern")]);
});

test("a server without any feature is reported once: the servers that .tool returned were dropped", async () => {
  const messages: string[] = [];
  const server = createServer({ name: "s", version: "1" }, { onError: (error) => messages.push(String(error)) });
  server.tool("a", { run });
  for (let connection = 0; connection < 2; connection += 1) await (await connectInMemory(server)).close();
  await vi.waitFor(() => expect(messages).toHaveLength(1));
  expect(messages[0]).toContain("`.tool`, `.resource` and `.prompt` return a new server");
});

test("a live server without features, and a server with custom methods only, are not reported", async () => {
  const messages: string[] = [];
  const options = { onError: (error: unknown) => messages.push(String(error)) };
  const empty = live(createServer({ name: "s", version: "1" }, options));
  const custom = createServer({ name: "s", version: "1" }, options).method("x/y", { handle: () => ({}) });
  const risky = createServer({ name: "s", version: "1" }, options).tool("last", {
    input: { type: "object", properties: { text: { type: "string", pattern: "^(a+)+$" } } },
    run,
  });
  for (const server of [empty, custom, risky]) await (await connectInMemory(server)).close();
  // The warnings come in the order of the servers.
  await vi.waitFor(() => expect(messages).toHaveLength(1));
  expect(messages[0]).toContain('Tool "last"');
});
