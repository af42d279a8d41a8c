import { join } from "node:path";
import { build } from "esbuild";
import type { JsonObject } from "portolan";
import type { Model, ModelRequest } from "portolan-host/models";
import { expect, test } from "vitest";
import { showApp } from "./run.ts";
import { appWith, openStage } from "./stage.ts";

/** Returns a document with the official view in it, which offers tools. */
async function officialView(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, "../peers/tools-view.mjs")],
    ...{ bundle: true, write: false, format: "esm", platform: "browser", logLevel: "silent", minify: true },
  });
  const script = (outputFiles[0]?.text ?? "").replaceAll("</script", "<\\/script");
  return `<!doctype html><html><body>empty</body><script type="module">${script}</script></html>`;
}

test("a model in our host uses the tools of the official view, in a browser", async () => {
  const stage = await openStage();
  await showApp(stage, { html: await officialView() });
  await stage.page.waitForFunction(() => window.shown.session.tools.length === 2);
  const { asked, messages, question, tools } = await stage.page.evaluate(async () => {
    const { host, session } = window.shown;
    const requests: ModelRequest[] = [];
    const wanted = [
      ["make_move", { position: 1 }],
      ["get_board", {}],
      ["undo", {}],
      ["make_move", { position: "corner" }],
    ] as const;
    const model: Model = {
      id: "scripted",
      capabilities: { tools: true, images: false, contextTokens: 100_000 },
      async *stream(request) {
        const [name = "", input = {}] = wanted[requests.length] ?? [];
        requests.push(request);
        const tool = request.tools?.find((one) => one.name.startsWith(`app_test_${name}_v`));
        if (tool) yield { type: "tool", id: `t${requests.length}`, name: tool.name, input: input as JsonObject };
        yield { type: "end", stopReason: tool ? "toolUse" : "endTurn", model: "scripted" };
      },
    };
    const { state } = await host.run("Play", { model, apps: [session] }).result;
    return {
      asked: requests.map((request) =>
        (request.tools ?? []).map(({ name }) => name).filter((name) => /^app_/.test(name)),
      ),
      messages: JSON.stringify(state.messages),
      question: window.shown.asked.at(-1),
      tools: session.tools.map(({ definition }) => definition),
    };
  });
  // The tool that the first call has enabled is there in the next turn.
  expect(asked.map((names) => names.length)).toEqual([2, 3, 3, 3, 3]);
  expect(messages).toContain("Played at 1");
  expect(messages).toContain("XO-");
  expect(messages).toContain("Undone");
  expect(messages).toMatch(/Data from tool make_move of the app ui:\/\/test\/app.*(position|expected number)/);
  expect(question).toMatchObject({ kind: "approve", action: { tool: "make_move", app: "ui://test/app" } });
  expect(tools.find(({ name }) => name === "make_move")?.inputSchema).toMatchObject({ required: ["position"] });
  await stage.page.frameLocator("iframe").frameLocator("iframe").getByText("XO-").waitFor();
  const left = await stage.page.evaluate(async () => {
    const { session } = window.shown;
    const [tool] = session.tools;
    await session.close();
    const failure = tool && (await session.callTool(tool).catch((reason: Error) => reason.message));
    return [session.tools.length, failure];
  });
  expect(left).toEqual([0, "The app is closed, and its tools are gone with it"]);
});

test("answers that nobody waits for change nothing", async () => {
  const stage = await openStage();
  const flood = `
    window.addEventListener("message", ({ data: { id, method } }) => {
      if (method !== "tools/list") return;
      for (let at = 0; at < 100; at += 1) post({ id, result: { tools: [{ name: "n" + at, inputSchema: { type: "object" } }] } });
      post({ id: id + "0", result: { content: [] } });
    });`;
  const html = appWith("")
    .replace("appCapabilities: {}", "appCapabilities: { tools: {} }")
    .replace("const waiting", `${flood} const waiting`);
  await showApp(stage, { html });
  await stage.page.waitForFunction(() => window.shown.session.tools.length === 1);
  expect(await stage.page.evaluate(() => window.shown.session.tools.map(({ name }) => name))).toEqual(["n0"]);
  const result = await stage.page.evaluate(() => window.shown.host.callTool("test", "show", {}, { by: "user" }));
  expect(result).toMatchObject({ content: [{ text: "result of show" }] });
});
