import { expect, test } from "vitest";
import { grade } from "../../../packages/check/src/index.ts";
import { forOfficialClientsOverBoth } from "../kit/official.ts";
import { connectTo, scriptOf, serveHttp } from "../kit/programs.ts";
import { type Data, until } from "./walk.ts";

const script = scriptOf("everything");

test("rejects an argument that differs from its header before the tool runs", async () => {
  const url = await serveHttp(script);
  const post = async (region: string) => {
    const meta = "io.modelcontextprotocol";
    const _meta = { [`${meta}/protocolVersion`]: "2026-07-28", [`${meta}/clientCapabilities`]: {} };
    const params = { name: "route", arguments: { region: "eu" }, _meta };
    const answer = await fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "route",
        "mcp-param-region": region,
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
    });
    return { status: answer.status, body: (await answer.json()) as Data };
  };
  expect(await post("us")).toMatchObject({ status: 400, body: { error: { code: -32020 } } });
  expect(await post("eu")).toMatchObject({ status: 200, body: { result: { structuredContent: { route: "eu/0" } } } });
});

test("obeys --page-size", async () => {
  const client = await connectTo({ command: process.execPath, args: [script, "--page-size", "7"] });
  const { tools } = (await client.request("tools/list")) as Data;
  expect(tools).toHaveLength(7);
  expect((await client.listTools()).length).toBeGreaterThan(20);
});

test("conforms to the protocol on every revision", async () => {
  const { isPassed, totals, verdicts } = await grade({ command: process.execPath, args: [script] });
  expect(verdicts.filter((verdict) => verdict.grade === "fail")).toEqual([]);
  expect(totals.filter(({ isSpoken }) => isSpoken)).toHaveLength(5);
  expect(isPassed).toBe(true);
});

forOfficialClientsOverBoth(script, "uses every feature", async (client) => {
  const value = async (tool: string, args: object = {}) => (await client.callTool(tool, args)).structuredContent;
  const { all, pages } = await client.listResources();
  expect([all.length, pages]).toEqual([68, 2]);
  expect((await client.listTools()).all.length).toBeGreaterThan(20);
  expect((await client.listTemplates()).all).toHaveLength(2);
  expect((await client.listPrompts()).all).toHaveLength(4);

  expect(await value("echo", { text: "hello" })).toEqual({ text: "hello" });
  const { content } = await client.callTool("content", { kind: "all" });
  expect(content.map(({ type }: Data) => type)).toEqual([
    ...["text", "image", "audio", "resource_link", "resource", "resource"],
  ]);
  expect(await value("measure")).toMatchObject({ celsius: [4, 6, 5] });
  expect((await client.callTool("fail", { kind: "tool" })).isError).toBe(true);
  await expect(client.callTool("fail", { kind: "protocol" })).rejects.toMatchObject({ code: 1_001 });
  expect(await value("route", { region: "eu", shard: 3 })).toEqual({ route: "eu/3" });
  expect(await value("request")).toMatchObject({ protocolVersion: client.version });

  const seen: number[] = [];
  const onProgress = ({ progress }: { progress: number }) => seen.push(progress);
  expect((await client.callTool("count", { to: 5, stepMs: 20 }, { onProgress })).structuredContent).toEqual({
    counted: 5,
  });
  expect(seen).toContain(2);
  const abort = new AbortController();
  const waits = client.callTool("wait", {}, { signal: abort.signal, onProgress: () => abort.abort() });
  await expect(waits).rejects.toThrow();
  const cancelled = async () =>
    JSON.parse((await client.readResource("everything://waits")).contents[0].text).cancelled;
  await until(async () => (await cancelled()) === 1);
  await client.setLogLevel("debug");
  await client.callTool("log");
  await client.hears("notifications/message", ({ level }: Data) => level === "emergency");

  client.answers.elicit = ({ message }: Data) =>
    message.startsWith("Guess")
      ? { action: "accept", content: { number: message.startsWith("Guess 2") ? 7 : 1 } }
      : {
          action: "accept",
          content: message.startsWith("Which name") ? { name: "Ada" } : { text: "hi", days: ["mon"] },
        };
  expect(await value("ask-form")).toMatchObject({ action: "accept", content: { text: "hi" } });
  expect(await value("ask-steps")).toEqual({ name: "Ada", sure: true });
  expect(await value("ask-together")).toEqual({ yes: 2 });
  expect(await value("ask-until")).toEqual({ guesses: 2 });
  expect(await value("ask-parked")).toEqual({ pages: "one two three" });
  expect(await value("ask-explicit")).toEqual({ name: "Ada", rounds: 1 });
  client.answers.elicit = () => ({ action: "accept" });
  expect(await value("ask-page")).toEqual({ action: "accept" });
  expect(await value("sample", { prompt: "Hello" })).toMatchObject({ text: "<Hello>" });
  expect(await value("roots")).toMatchObject({ roots: [{ name: "home" }, { name: "srv" }] });

  const following = await client.follow("everything://note");
  expect(await value("write-note", { note: "second" })).toEqual({ note: "second" });
  await client.hears("notifications/resources/updated", ({ uri }: Data) => uri === "everything://note");
  await following.stop();
  const lists = await client.followLists();
  expect(await value("change-lists", { extras: 1 })).toEqual({ extras: 1 });
  await client.hears("notifications/tools/list_changed");
  await lists.stop();
  expect((await client.listTools()).all.map(({ name }) => name)).toContain("extra-1");

  const ref = { type: "ref/prompt", name: "arguments" };
  const context = { arguments: { language: "rust" } };
  const { completion } = await client.complete({ ref, argument: { name: "style", value: "p" }, context });
  expect(completion.values).toEqual(["pedantic"]);
  expect((await client.getPrompt("content")).messages).toHaveLength(6);
  expect((await client.readResource("everything://pixel")).contents[0].blob).toMatch(/^iVBOR/);
});
