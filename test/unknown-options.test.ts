// Public functions refuse options that they do not know: a misspelt option that is ignored looks like one that works.

import { oauth } from "portolan/auth/client";
import { protect } from "portolan/auth/server";
import { connect } from "portolan/client";
import { countRefusals, traceClient, traceServer } from "portolan/otel";
import { createServer } from "portolan/server";
import { createHealthHandler } from "portolan/server/health";
import { serveHttp } from "portolan/server/http";
import { serveStdio } from "portolan/server/stdio";
import { createMemoryStorage } from "portolan/storage";
import { createFileStorage } from "portolan/storage/node";
import { connectInMemory } from "portolan/testing";
import { createHost } from "portolan-host";
import { describe, expect, onTestFinished, test } from "vitest";

const info = { name: "options", version: "1.0.0" };
const server = createServer(info);
const address = "http://127.0.0.1:1/mcp";
/** As a program in plain JavaScript would pass it. */
const given = (options: object) => options as never;

describe("an unknown option is refused by", () => {
  test.each<[string, () => unknown, string]>([
    ["createServer", () => createServer(info, given({ instruction: "x" })), "did you mean `instructions`?"],
    [".tool", () => server.tool("x", given({ inputSchema: {}, run: () => "x" })), "did you mean `input`?"],
    [".tool", () => server.tool("x", given({ handler: () => "x", run: () => "x" })), "did you mean `run`?"],
    [".tool", () => server.tool("x", given({ descripton: "x", run: () => "x" })), "did you mean `description`?"],
    [".resource", () => server.resource("file:///x", given({ mimetype: "x", read: () => "x" })), "`mimeType`"],
    [".template", () => server.template("file:///{x}", given({ mimetype: "x", read: () => "x" })), "`mimeType`"],
    [".prompt", () => server.prompt("x", given({ argument: {}, get: () => "x" })), "did you mean `arguments`?"],
    ["serveHttp", () => serveHttp(server, given({ paths: "/x" })), "did you mean `path`?"],
    ["serveHttp: card", () => serveHttp(server, { card: given({ names: "a/b" }) }).listen(0), "did you mean `name`?"],
    ["serveStdio", () => serveStdio(server, given({ maxMessageByte: 1 })), "did you mean `maxMessageBytes`?"],
    ["createHealthHandler", () => createHealthHandler(given({ check: {} })), "did you mean `checks`?"],
    ["traceServer", () => traceServer(given({ recordContents: true })), "did you mean `recordContent`?"],
    ["traceClient", () => traceClient(given({ tracer: {} })), "traceClient: unknown option `tracer`"],
    ["countRefusals", () => countRefusals(given({ meterProviders: {} })), "did you mean `meterProvider`?"],
    ["connect", () => connect(address, given({ revision: "2025-11-25" })), "did you mean `era`?"],
    ["connect", () => connect(address, given({ answer: {} })), "did you mean `answers`?"],
    ["createHost", () => createHost(given({ servers: {}, polcy: [] })), "did you mean `policy`?"],
    ["protect", () => protect(given({ issuer: "x" })), "did you mean `issuers`?"],
    ["oauth", () => oauth(given({ redirct: {} })), "did you mean `redirect`?"],
    ["createFileStorage", () => createFileStorage("x", given({ maxEntrys: 1 })), "did you mean `maxEntries`?"],
    ["createMemoryStorage", () => createMemoryStorage(given({ maxEntrys: 1 })), "did you mean `maxEntries`?"],
  ])("%s", async (_, call, message) => {
    await expect(async () => call()).rejects.toThrow(message);
    await expect(async () => call()).rejects.toMatchObject({
      name: "PortolanError",
      message: expect.stringContaining("unknown option `"),
    });
  });
});

describe("an option of one call is refused before anything is sent, by", () => {
  type Call = (options: never) => unknown;
  const ref = { type: "ref/prompt" as const, name: "p" };
  const calls: readonly [string, (client: Awaited<ReturnType<typeof open>>["client"]) => Call][] = [
    ["callTool", (client) => (options) => client.callTool("x", {}, options)],
    ["readResource", (client) => (options) => client.readResource("file:///x", options)],
    ["getPrompt", (client) => (options) => client.getPrompt("x", {}, options)],
    ["complete", (client) => (options) => client.complete(ref, { name: "a", value: "" }, options)],
    ["request", (client) => (options) => client.request("tools/list", {}, options)],
    ["ping", (client) => (options) => client.ping(options)],
    ["setLogLevel", (client) => (options) => client.setLogLevel("info", options)],
    ["watch", (client) => (options) => client.watch({ tools: true }, options)],
    ["tools/list", (client) => (options) => client.listTools(options)],
    ["tools/list", (client) => (options) => client.tools(options)[Symbol.asyncIterator]().next()],
    // A list that the server does not have is empty, but its options are checked.
    ["prompts/list", (client) => (options) => client.listPrompts(options)],
    ["prompts/list", (client) => (options) => client.prompts(options)[Symbol.asyncIterator]().next()],
  ];

  /** A server with one tool, and the number of times that it ran. */
  async function open() {
    let runs = 0;
    const counted = createServer(info).tool("x", { run: () => String(++runs) });
    const client = await connectInMemory(counted);
    onTestFinished(() => client.close());
    return { client, runs: () => runs };
  }

  test.each(calls)("%s", async (name, of) => {
    const { client, runs } = await open();
    const call = of(client) as (options: unknown) => unknown;
    const refusal = async (options: unknown) => {
      const reason = await Promise.resolve(call(options)).catch((thrown: unknown) => thrown);
      expect(reason).toMatchObject({ name: "PortolanError", code: "invalid-argument" });
      return (reason as Error).message;
    };
    expect(await refusal({ timeout: 5 })).toContain(`${name}: unknown option \`timeout\`; `);
    expect(await refusal({ signal: "now" })).toBe(`${name}: signal: expected a value of type object, got "now"`);
    expect(await refusal(null)).toBe(`${name}: expected an object of options, got null`);
    expect(await refusal(5)).toBe(`${name}: expected an object of options, got number 5`);
    if (name !== "watch") {
      expect(await refusal({ timeout: 5 })).toContain("did you mean `idleMs`?");
      expect(await refusal({ idleMs: "60" })).toBe(`${name}: idleMs: expected a number from 0 on, got "60"`);
      expect(await refusal({ totalMs: -1 })).toBe(`${name}: totalMs: expected a number from 0 on, got number -1`);
      expect(await refusal({ idleMs: Number.NaN })).toContain("expected a number from 0 on");
      expect(await refusal({ onProgress: {} })).toContain("onProgress: expected a value of type function");
      expect(await refusal({ meta: null })).toContain("meta: expected a value of type object, got null");
    }
    expect(runs()).toBe(0);
  });

  test("listTools and complete, for the options that only they have", async () => {
    const { client } = await open();
    await expect(client.listTools(given({ maxItems: "1" }))).rejects.toThrow("maxItems: expected a number from 0 on");
    await expect(client.listTools(given({ onInvalid: 1 }))).rejects.toThrow("onInvalid: expected a value of type func");
    const completing = client.complete(ref, { name: "a", value: "" }, given({ known: "b" }));
    await expect(completing).rejects.toThrow('complete: known: expected a value of type object, got "b"');
    await expect(client.callTool("x", {}, given({ maxItems: 1 }))).rejects.toThrow("unknown option `maxItems`");
  });

  test("and options that are undefined or inherited are taken as before", async () => {
    const { client, runs } = await open();
    await client.callTool("x", {}, given({ idleMs: undefined, signal: undefined }));
    await client.callTool("x", {}, given(Object.create({ idleMs: 5_000 })));
    expect(runs()).toBe(2);
    await expect(client.callTool("x", {}, given(Object.create({ idleM: 5_000 })))).rejects.toThrow("`idleMs`");
  });
});

describe("an option of one call in a host is refused before anything is asked or sent, by", () => {
  test("callTool, readResource, getPrompt and complete", async () => {
    const host = await createHost({ servers: {} });
    onTestFinished(() => host.close());
    const ref = { type: "ref/prompt" as const, name: "p" };
    const calls: readonly [string, (options: never) => Promise<unknown>][] = [
      ["callTool", (options) => host.callTool("s", "x", {}, options)],
      ["readResource", (options) => host.readResource("s", "file:///x", options)],
      ["getPrompt", (options) => host.getPrompt("s", "x", {}, options)],
      ["complete", (options) => host.complete("s", ref, { name: "a", value: "" }, options)],
    ];
    for (const [name, call] of calls) {
      await expect(call(given({ timeout: 5 }))).rejects.toThrow(`${name}: unknown option \`timeout\`; `);
      await expect(call(given({ signal: "x" }))).rejects.toThrow(`${name}: signal: expected a value of type object`);
    }
    const idle = host.callTool("s", "x", {}, given({ idleMs: "60" }));
    await expect(idle).rejects.toThrow('callTool: idleMs: expected a number from 0 on, got "60"');
  });
});
