import { join } from "node:path";
import { build } from "esbuild";
import { createServer } from "portolan/server";
import { app, apps } from "portolan/server/apps";
import { serveHttp } from "portolan/server/http";
import { sandboxHandler } from "portolan-host/apps/sandbox";
import { expect, onTestFinished, test } from "vitest";
import { startChromium } from "../../browser/chromium.ts";
import { appWith, serve } from "./stage.ts";

declare global {
  interface Window {
    told: { links: string[]; messages: unknown[]; sizes: unknown[]; errors: string[] };
    showTool(options: { url: string; tool: string; args: object; sandbox: string }): Promise<string[]>;
  }
}

const html = appWith(`
  const said = document.createElement("pre");
  document.body.append(said);
  const show = (name, value) => { said.textContent += name + " " + JSON.stringify(value) + "\\n"; };
  const until = async (method) => {
    for (;;) {
      const message = received.find((one) => one.method === method);
      if (message) return message.params;
      await new Promise((resolve) => window.addEventListener("message", resolve, { once: true }));
    }
  };
  show("surroundings", received.find((one) => one.result?.hostContext).result.hostContext.theme);
  show("input", (await until("ui/notifications/tool-input")).arguments);
  show("result", (await until("ui/notifications/tool-result")).content[0].text);
  show("hint", (await call("tools/call", { name: "hint", arguments: {} })).result.content[0].text);
  show("rules", (await call("resources/read", { uri: "text:rules" })).result.contents[0].text);
  await call("ui/open-link", { url: "https://example.com/" });
  await call("ui/message", { role: "user", content: [{ type: "text", text: "I moved" }] });
  post({ method: "ui/notifications/size-changed", params: { width: 300, height: 200 } });
  const escape = await fetch("https://example.com/").then(() => "reached", (error) => error.name);
  show("escape", escape);
  show("done", true);
`);
const board = app("ui://chess/board", { html, border: true });
const chess = createServer({ name: "chess", version: "1.0.0" })
  .extend(apps())
  .tool("move", {
    ui: board,
    input: { type: "object", properties: { to: { type: "string" } }, required: ["to"] },
    run: ({ to }: { to: string }) => `moved to ${to}`,
  })
  .tool("hint", { ui: { app: board, for: ["app"] }, run: () => "Nf3" })
  .resource("text:rules", { read: () => "Rules" });

test("our app works in the host of @mcp-ui/client, behind our sandbox", async () => {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, "../peers/mcp-ui.mjs")],
    ...{ bundle: true, write: false, format: "iife", platform: "browser", logLevel: "silent", minify: true },
    define: { "process.env.NODE_ENV": '"production"' },
  });
  const port = await serve((request, response) => {
    const isScript = request.url === "/page.js";
    response.setHeader("content-type", isScript ? "text/javascript" : "text/html");
    response.end(
      isScript ? outputFiles[0]?.text : '<!doctype html><script src="/page.js" defer></script><div id="app"></div>',
    );
  });
  const origin = `http://127.0.0.1:${port}`;
  const handler = sandboxHandler({ hosts: [origin] });
  const sandboxPort = await serve((request, response) => handler.node(request, response));
  const served = serveHttp(chess, { allowedOrigins: [origin] });
  onTestFinished(() => served.close(0));
  const { url } = await served.listen(0);

  const page = await (await startChromium()).newPage();
  page.setDefaultTimeout(20_000);
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  await page.goto(origin);
  const sandbox = `http://localhost:${sandboxPort}${handler.add({ permissions: [] }).path}`;
  const options = { url, tool: "move", args: { to: "e4" }, sandbox };
  expect(await page.evaluate((given) => window.showTool(given), options)).toEqual(["hint", "move"]);
  const said = page.frameLocator("iframe").frameLocator("iframe").locator("pre");
  await said.getByText("done true").waitFor();
  expect((await said.textContent())?.trim().split("\n")).toEqual([
    'surroundings "dark"',
    'input {"to":"e4"}',
    'result "moved to e4"',
    'hint "Nf3"',
    'rules "Rules"',
    'escape "TypeError"',
    "done true",
  ]);
  const told = await page.evaluate(() => window.told);
  expect(told).toMatchObject({
    links: ["https://example.com/"],
    messages: [[{ type: "text", text: "I moved" }]],
    errors: [],
  });
  expect(told.sizes).toContainEqual(expect.objectContaining({ height: 200 }));
  // This host tells the surroundings of the app before it is connected, too, and does not catch the failure of that.
  expect(problems.filter((problem) => problem !== "Error: Not connected")).toEqual([]);
});
