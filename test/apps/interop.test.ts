import type { JsonObject } from "portolan";
import { createServer } from "portolan/server";
import { app, apps as serverApps } from "portolan/server/apps";
import { serveHttp } from "portolan/server/http";
import { type AppChannel, apps, openApp } from "portolan-host/apps";
import { expect, onTestFinished, test, vi } from "vitest";
import { inMemory, makeHost } from "../host/kit.ts";
import { between } from "../kit/revisions.ts";
import { connectView, openBridge, type PeerChannel } from "./peers/ext-apps.mjs";

const html = "<!doctype html><title>Board</title>";
const csp = { connect: ["https://api.example.com"] };
const board = app("ui://chess/board", { html, csp, permissions: ["clipboard-write"], border: true });
const chess = createServer({ name: "chess", version: "1.0.0" })
  .extend(serverApps())
  .tool("move", {
    ui: board,
    input: { type: "object", properties: { to: { type: "string" } }, required: ["to"] },
    run: ({ to }: { to: string }) => ({ square: to }),
  })
  .tool("hint", { ui: { app: board, for: ["app"] }, run: () => "Nf3" })
  .tool("resign", { ui: { app: board, for: ["model"] }, run: () => "gone" })
  .resource("text:rules", { read: () => "Rules" });

/** A channel whose far end is another implementation. */
class Pipe implements AppChannel, PeerChannel {
  isRemoved = false;
  onPost: ((message: JsonObject) => void) | undefined;
  #receive: (message: unknown) => void = () => {};

  open(receive: (message: unknown) => void): void {
    this.#receive = receive;
  }

  post(message: JsonObject): void {
    const copy = structuredClone(message);
    queueMicrotask(() => this.onPost?.(copy));
  }

  send(message: unknown): void {
    const copy = structuredClone(message);
    queueMicrotask(() => this.#receive(copy));
  }

  close(): void {
    this.isRemoved = true;
  }
}

test.each(between("2025-06-18", "2026-07-28"))("the official view works in our host (%s)", async (era) => {
  const said: unknown[] = [];
  const logged: unknown[] = [];
  const host = await makeHost({
    servers: { chess: inMemory(chess, { era }) },
    extensions: [apps()],
    answers: { approve: () => true, say: () => true, openUrl: () => ({ action: "accept" }) },
  });
  const session = await openApp(host, {
    ...{ server: "chess", tool: "move", args: { to: "e4" }, surroundings: { theme: "dark", locale: "de" } },
    result: host.callTool("chess", "move", { to: "e4" }, { by: "user" }),
    displayModes: ["inline", "fullscreen"],
    onDisplayMode: (mode) => mode,
    onMessage: (content) => void said.push(content),
    onLog: (message) => void logged.push(message),
  });
  session.sendPartialInput({ to: "ignored" });
  const pipe = new Pipe();
  session.connect(pipe);
  const { view, told } = await connectView(pipe);
  expect(view.getHostCapabilities()).toMatchObject({
    ...{ openLinks: {}, serverTools: {}, serverResources: {}, logging: {} },
    sandbox: { csp: { connectDomains: ["https://api.example.com"] }, permissions: { clipboardWrite: {} } },
  });
  expect(view.getHostContext()).toMatchObject({ theme: "dark", locale: "de", toolInfo: { tool: { name: "move" } } });
  await vi.waitUntil(() => told.length === 2);
  expect(told.map(([kind]) => kind)).toEqual(["input", "result"]);
  expect(told[1]?.[1]).toMatchObject({ content: [{ type: "text", text: '{"square":"e4"}' }] });
  session.setSurroundings({ theme: "light" });
  await vi.waitUntil(() => told.some(([kind, params]) => kind === "surroundings" && params["theme"] === "light"));
  expect(await view.callServerTool({ name: "hint" })).toMatchObject({ content: [{ text: "Nf3" }] });
  expect(await view.callServerTool({ name: "resign" })).toMatchObject({ isError: true });
  await expect(view.callServerTool({ name: "none" })).rejects.toThrow(/no tool/);
  expect(await view.readServerResource({ uri: "text:rules" })).toMatchObject({ contents: [{ text: "Rules" }] });
  expect(await view.openLink({ url: "https://example.com" })).toEqual({});
  expect(await view.openLink({ url: "javascript:alert(1)" })).toEqual({ isError: true });
  expect(await view.requestDisplayMode({ mode: "fullscreen" })).toEqual({ mode: "fullscreen" });
  const content = [{ type: "text", text: "I moved" }];
  expect(await view.sendMessage({ role: "user", content })).toEqual({});
  await view.updateModelContext({ content });
  await view.sendLog({ level: "info", data: "here" });
  await vi.waitUntil(() => logged.length === 1);
  expect([said, session.takeContext()?.content, logged]).toEqual([
    [content],
    content,
    [{ level: "info", data: "here" }],
  ]);
  await session.close("done");
  expect(told.at(-1)?.[0]).toBe("teardown");
  expect(pipe.isRemoved).toBe(true);
});

test("our server's app works in the official host", async () => {
  const endpoint = serveHttp(chess);
  onTestFinished(() => endpoint.close());
  const { url } = await endpoint.listen(0);
  const received: JsonObject[] = [];
  const bridge = await openBridge(url, "move", (message) => void received.push(structuredClone(message)));
  onTestFinished(() => bridge.close());
  expect([bridge.uri, bridge.content["text"]]).toEqual(["ui://chess/board", html]);
  expect(bridge.content["_meta"]).toMatchObject({ ui: { permissions: { clipboardWrite: {} }, prefersBorder: true } });
  const answerTo = (id: number) => vi.waitUntil(() => received.find((one) => one["id"] === id && !("method" in one)));
  const ask = (id: number, method: string, params: object) => {
    bridge.receive({ jsonrpc: "2.0", id, method, params });
    return answerTo(id);
  };
  await ask(1, "ui/initialize", {
    ...{ protocolVersion: "2026-01-26", appInfo: { name: "board", version: "1.0.0" }, appCapabilities: {} },
  });
  bridge.receive({ jsonrpc: "2.0", method: "ui/notifications/initialized", params: {} });
  await bridge.show({ to: "e4" });
  const shown = received.filter((one) => "method" in one);
  expect(shown).toMatchObject([
    { method: "ui/notifications/tool-input", params: { arguments: { to: "e4" } } },
    { method: "ui/notifications/tool-result", params: { content: [{ text: '{"square":"e4"}' }] } },
  ]);
  expect(await ask(2, "tools/call", { name: "hint", arguments: {} })).toMatchObject({
    result: { content: [{ text: "Nf3" }] },
  });
  expect(await ask(3, "resources/read", { uri: "text:rules" })).toMatchObject({
    result: { contents: [{ text: "Rules" }] },
  });
});
