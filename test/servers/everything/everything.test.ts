import { startTool, tasks } from "portolan/client/tasks";
import { connectInMemory } from "portolan/testing";
import { createEverything } from "portolan-everything";
import { apps } from "portolan-host/apps";
import { describe, expect, onTestFinished, test } from "vitest";
import { revisions } from "../../kit/revisions.ts";
import { connectTo, scriptOf, serveHttp } from "../kit/programs.ts";
import { offers } from "./steps/offers.ts";
import { questions } from "./steps/questions.ts";
import { tools } from "./steps/tools.ts";
import { type Data, everyAnswer, type Step, type Walk } from "./walk.ts";

const script = scriptOf("everything");

const transports = {
  async memory(options: Data) {
    const client = await connectInMemory(createEverything({ onError() {} }), options);
    onTestFinished(() => client.close());
    return client;
  },
  stdio: (options: Data) => connectTo({ command: process.execPath, args: [script], onStderr() {} }, options),
  http: async (options: Data) => connectTo(await serveHttp(script), options),
};

const isThere = ({ since = revisions[0] }: Step, { revision }: Walk) => revision >= since;

test.each(["2025-11-25", "2026-07-28"] as const)("make-film is a task on %s", async (revision) => {
  const client = await connectInMemory(createEverything(), { revision, extensions: [tasks()] });
  onTestFinished(() => client.close());
  const task = await startTool(client, "make-film", { frames: 3 });
  expect(task.ref).toMatchObject({ tool: "make-film" });
  expect((await task.result).structuredContent).toEqual({ frames: 3 });
});

test.each(["2025-06-18", "2026-07-28"])("measure has an app for clients with apps (%s)", async (revision) => {
  const client = await connectInMemory(createEverything(), { revision, extensions: [apps()] });
  onTestFinished(() => client.close());
  const measure = (await client.listTools()).find(({ name }) => name === "measure");
  const uri = "ui://everything/measure";
  expect(measure?._meta).toMatchObject({ ui: { resourceUri: uri } });
  const { contents } = await client.readResource(uri);
  expect(contents).toMatchObject([{ uri, mimeType: "text/html;profile=mcp-app" }]);
});

describe.each(["memory", "stdio", "http"] as const)("over %s", (transport) => {
  test.each(revisions)("every feature works on %s", async (revision) => {
    const [asked, logged, script]: Data[][] = [[], [], []];
    const client = await transports[transport]({
      ...everyAnswer(asked!, logged!, script!),
      era: revision,
      ...(transport === "memory" && { revision }),
    });
    const walk: Walk = {
      ...{ client, revision, transport, asked: asked!, logged: logged!, script: script! },
      call: (tool, args = {}, options = {}) => client.callTool(tool as never, args as never, options),
    };
    const failed: string[] = [];
    for (const step of [...tools, ...questions, ...offers]) {
      const check = isThere(step, walk) ? step.check : step.before;
      await check?.(walk).catch((reason: Error) => failed.push(`${step.name}: ${reason.stack}`));
      expect(script, `${step.name}: unused answers`).toEqual([]);
    }
    expect(failed.join("\n\n")).toBe("");
  });
});
