import { describe, expect, test } from "vitest";
import { nodeListener } from "../../packages/portolan/src/server/http/node.ts";
import { openListener } from "./adapters.ts";
import { echo, plain } from "./handlers.ts";

describe("the node adapter behind a framework", () => {
  test.each([
    ["an object", (text: string) => JSON.parse(text), '{"a":[1,"é"]}'],
    ["a string", (text: string) => text, '{ "a": 1 }'],
    ["bytes", (text: string) => Buffer.from(text), '{ "é": 1 }'],
    ["an empty object", (text: string) => JSON.parse(text), "{}"],
    ["a string above the limit", (text: string) => text, "x".repeat(2_000), "at most 1000 bytes are read"],
    ["an object with a bigint", () => ({ n: 1n }), "{}", "body was read before"],
    ["no parsed body", () => undefined, "{}", "body was read before"],
  ])("the node adapter handles %s", async (_, parse, sent, expected = sent) => {
    const listener = nodeListener(echo, { bodyBytes: 1_000 });
    const port = await openListener(async (req, res) => {
      const text = Buffer.concat(await req.toArray()).toString();
      listener(Object.assign(req, { body: parse(text) }), res);
    });
    const answer = await fetch(`http://127.0.0.1:${port}/`, { method: "POST", body: sent });
    expect(await answer.text()).toContain(expected);
  });

  test("the node adapter reads the body itself if the framework did not read it", async () => {
    const listener = nodeListener(echo);
    const port = await openListener((req, res) => listener(Object.assign(req, { body: {} }), res));
    expect(await (await fetch(`http://127.0.0.1:${port}/`, { method: "POST", body: "[1]" })).text()).toBe("[1]");
  });

  test("the path is the original path of the request, not the part that the framework left", async () => {
    const listener = nodeListener(({ path }, reply) => reply.send(200, plain, path));
    const port = await openListener((req, res) => {
      const originalUrl = req.url;
      req.url = "/";
      listener(Object.assign(req, { originalUrl }), res);
    });
    expect(await (await fetch(`http://127.0.0.1:${port}/api/mcp?x`)).text()).toBe("/api/mcp");
  });
});
