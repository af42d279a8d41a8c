import { createMemoryStorage } from "portolan/storage";
import { describe, expect, test } from "vitest";
import { openEndpoint } from "../requirements/client/kit/endpoints.ts";
import { ScriptedServer } from "../requirements/client/kit/scripted-server.ts";
import { taskServer } from "../requirements/client/kit/tasks.ts";
import { importGuide } from "./guide.ts";

const guide = await importGuide("tasks-client");

describe.each(["2025-11-25", "2026-07-28"] as const)("docs/tasks.md on %s", (revision) => {
  const content = [{ type: "text", text: "the result" }];

  const openServer = (steps: Parameters<typeof taskServer>[1]["steps"]) =>
    openEndpoint("memory", new ScriptedServer(revision, taskServer(revision, { steps })));

  test("shows the states of a task and returns its result", async () => {
    const { target } = await openServer([{ status: "completed" }]);
    const client = await guide.open(target, createMemoryStorage().kv);
    const shown: string[] = [];
    expect(await guide.render(client, (text: string) => shown.push(text))).toMatchObject({ content });
    expect(shown).toEqual(["working", "completed"]);
    await client.close();
  });

  test("finishes the tasks of an earlier client", async () => {
    const store = createMemoryStorage().kv;
    const { startTool } = await import("portolan/client/tasks");
    const first = await guide.open((await openServer([{ status: "working" }])).target, store);
    await startTool(first, "render");
    await first.close();
    const second = await guide.open((await openServer([{ status: "completed" }])).target, store);
    expect(await guide.finish(second)).toMatchObject([{ status: "fulfilled", value: { content } }]);
    await second.close();
  });
});
