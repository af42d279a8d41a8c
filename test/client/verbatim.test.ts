import { fileURLToPath } from "node:url";
import { type Client, type ConnectOptions, connect, type RequestObserver, type TapEvent } from "portolan/client";
import { createServer } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { connectInMemory } from "portolan/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { revisions } from "../kit/revisions.ts";

const script = fileURLToPath(new URL("fixtures/digits-server.mjs", import.meta.url));

/** Connects, and keeps the text of all messages of this side. */
async function listening(target: Parameters<typeof connect>[0], options: ConnectOptions = {}) {
  const sent: string[] = [];
  const tap = (event: TapEvent) => {
    if (event.kind === "message" && event.from === "client") sent.push(event.text);
  };
  const client: Client = await connect(target, { ...options, tap });
  onTestFinished(() => client.close());
  return { client, sent };
}

const written = '{ "n": 12345678901234567890,\n\t"none": null, "text": "a\\nb", "n2": 1.0, "empty": {} }';
const onOneLine = written.replace("\n", " ");

describe("arguments as text", () => {
  test.each(revisions.slice(0, 4))("reach a process on %s as they were written, on one line", async (era) => {
    const { client, sent } = await listening({ command: process.execPath, args: [script] }, { era });
    const { structuredContent } = await client.callTool("echo", undefined, { argumentsText: written });
    expect(structuredContent).toEqual({ n: 12345678901234567000, none: null, text: "a\nb", n2: 1, empty: {} });
    expect(sent.at(-1)).toBe(
      `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":${onOneLine},"_meta":{"progressToken":2}}}`,
    );
  });

  test.each(revisions)("reach a server over HTTP on %s, also with `_meta` and an observer", async (era) => {
    const endpoint = serveHttp(
      createServer({ name: "s", version: "1" }).tool("echo", {
        input: { type: "object" },
        run: (args) => JSON.stringify(args),
      }),
    );
    const { url } = await endpoint.listen(0);
    onTestFinished(() => endpoint.close());
    const observer: RequestObserver = { begin: () => ({ meta: { traceparent: "00-1-1-00" }, end: () => {} }) };
    const { client, sent } = await listening(url, { era, observer });
    await client.callTool("echo", {}, { argumentsText: written, meta: { "example.com/a": 1 } });
    expect(sent.at(-1)).toContain(`"params":{"name":"echo","arguments":${onOneLine},"_meta":{`);
    expect(sent.at(-1)).toContain('"example.com/a":1');
    expect(sent.at(-1)).toContain('"traceparent":"00-1-1-00"');
  });

  test("are sent again in each round of questions", async () => {
    const server = createServer({ name: "s", version: "1" }).tool("ask", {
      input: { type: "object" },
      async run(_, ctx) {
        const form = { type: "object", properties: { a: { type: "string" } } } as const;
        return (await ctx.elicit("a", { message: "A?", form })).action;
      },
    });
    await using client = await connectInMemory(server, {
      revision: "2026-07-28",
      answers: { elicit: () => ({ action: "accept", content: { a: "x" } }) },
    });
    await client.callTool("ask" as never, undefined, { argumentsText: written });
    const calls = client.transcript.lines.filter((line) => line.startsWith("→") && line.includes("tools/call"));
    expect(calls.filter((line) => line.includes(`"arguments":${onOneLine},`))).toHaveLength(2);
  });

  test.each([
    ["[1]", "got an array"],
    ["null", "got null"],
    ['{"secret": 1,}', "got text that is not valid JSON"],
    ['{"secret":1} {}', "got text that is not valid JSON"],
    ["", "got text that is not valid JSON"],
  ])("%j are refused before anything is sent, without their text in the error", async (argumentsText, message) => {
    const { client, sent } = await listening({ command: process.execPath, args: [script] }, { era: "2025-11-25" });
    const before = sent.length;
    const call = client.callTool("echo", undefined, { argumentsText });
    await expect(call).rejects.toMatchObject({
      code: "invalid-argument",
      message: `callTool "echo": argumentsText: expected the text of a JSON object, ${message}`,
    });
    expect(sent).toHaveLength(before);
  });

  test("are refused beside other arguments, and for anything but a tool", async () => {
    const { client } = await listening({ command: process.execPath, args: [script] }, { era: "2025-11-25" });
    await expect(client.callTool("echo", { a: 1 }, { argumentsText: "{}" })).rejects.toThrow(
      'callTool "echo": expected no arguments beside `argumentsText`',
    );
    await expect(client.getPrompt("p", {}, { argumentsText: "{}" } as never)).rejects.toThrow("unknown option");
  });
});

test.each(revisions)("a client says on %s which capabilities it has declared", async (revision) => {
  const server = createServer({ name: "s", version: "1" }).tool("who", {
    run: (_, ctx) => JSON.stringify(ctx.capabilities),
  });
  await using client = await connectInMemory(server, {
    revision,
    answers: { elicit: () => ({ action: "decline" }), roots: [] },
    capabilities: { sampling: { tools: {} } },
  });
  const { content } = await client.callTool("who");
  expect(client.offered).toEqual(JSON.parse((content[0] as { text: string }).text));
  expect(client.offered.roots).toBeDefined();
});

describe("a result that does not match its output schema", () => {
  const server = { command: process.execPath, args: [script] };

  test("fails the call by default", async () => {
    const { client } = await listening(server, { era: "2025-11-25" });
    await client.listTools();
    await expect(client.callTool("echo", { n: 1 })).rejects.toMatchObject({ code: "answer-invalid" });
  });

  test("is returned with its problems if they are to be reported", async () => {
    const { client } = await listening(server, { era: "2025-11-25" });
    await client.listTools();
    const problems: string[] = [];
    const options = {
      output: "report",
      onOutputProblems: (found: readonly string[]) => problems.push(...found),
    } as const;
    const result = await client.callTool("echo", { n: 1, m: true }, options);
    expect(result.structuredContent).toEqual({ n: 1, m: true });
    expect(problems).toEqual([
      expect.stringMatching(/^Tool "echo": the result does not match its output schema: structuredContent\.n: /),
    ]);
    problems.length = 0;
    await client.callTool("echo", { n: "fits" }, options);
    expect(problems).toEqual([]);
  });

  test("is returned although the function for its problems throws, which is reported", async () => {
    const errors: string[] = [];
    const { client } = await listening(server, { era: "2025-11-25", onError: ({ message }) => errors.push(message) });
    await client.listTools();
    const onOutputProblems = () => {
      throw new Error("broken");
    };
    expect(await client.callTool("echo", { n: 1 }, { output: "report", onOutputProblems })).toMatchObject({
      structuredContent: { n: 1 },
    });
    expect(errors).toEqual(["broken"]);
  });

  test("needs one of the two words", async () => {
    const { client } = await listening(server, { era: "2025-11-25" });
    await client.listTools();
    await expect(client.callTool("echo", {}, { output: "reports" as "report" })).rejects.toThrow(
      'output: expected "refuse" or "report", got "reports"',
    );
  });
});

describe("params as text", () => {
  const target = { command: process.execPath, args: [script] };

  test("reach a server as they were written, with the protocol's own members of `_meta`", async () => {
    const { client, sent } = await listening(target, { era: "2025-11-25" });
    const paramsText =
      '{"name":"echo", "_meta" : {"progressToken":99,"example.com/a":1},\n "arguments": {"n":12345678901234567890}}';
    await client.request("tools/call", undefined, { paramsText });
    expect(sent.at(-1)).toBe(
      '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments": {"n":12345678901234567890},' +
        '"_meta":{"progressToken":2,"example.com/a":1}}}',
    );
    await expect(client.request("x/unknown", undefined, { paramsText: '{"a": 1.0}', idleMs: 50 })).rejects.toThrow();
    expect(sent).toContain('{"jsonrpc":"2.0","id":3,"method":"x/unknown","params":{"a": 1.0}}');
  });

  test("are never answered from the cache", async () => {
    const server = createServer({ name: "s", version: "1" }).tool("x", { run: () => "x" });
    await using client = await connectInMemory(server, { revision: "2026-07-28" });
    const lists = () => client.transcript.sent("tools/list").length;
    await client.request("tools/list", undefined, { paramsText: "{}" });
    await client.request("tools/list", undefined, { paramsText: "{ }" });
    expect(lists()).toBe(2);
  });

  test("are refused if they are no object, and beside other params", async () => {
    const { client } = await listening(target, { era: "2025-11-25" });
    await expect(client.request("x", {}, { paramsText: "[1]" })).rejects.toThrow(
      'request "x": paramsText: expected the text of a JSON object, got an array',
    );
    await expect(client.request("x", { a: 1 }, { paramsText: "{}" })).rejects.toThrow("expected no params beside");
    await expect(client.callTool("x", {}, { paramsText: "{}" } as never)).rejects.toThrow("unknown option");
  });
});
