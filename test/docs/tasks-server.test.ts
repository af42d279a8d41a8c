import { createMemoryPair } from "portolan";
import { connect } from "portolan/client";
import { tasks as clientTasks, startTool } from "portolan/client/tasks";
import { createServer, type Servable, serveChannel } from "portolan/server";
import { tasks } from "portolan/server/tasks";
import { createMemoryStorage } from "portolan/storage";
import { describe, expect, onTestFinished, test } from "vitest";
import { importGuide } from "./guide.ts";

const guide = await importGuide("tasks-server");

describe.each([
  ["2025-11-25", "stateful"],
  ["2026-07-28", "stateless"],
] as const)("docs/tasks.md, on the server, on %s", (_, era) => {
  async function open(server: Servable) {
    const [near, far] = createMemoryPair();
    serveChannel(server, far);
    const client = await connect(near, {
      era,
      extensions: [clientTasks()],
      answers: { elicit: () => ({ action: "accept", content: { look: "night" } }) },
    });
    onTestFinished(() => client.close());
    return client;
  }

  test("a task asks, shows its status and has its effects once", async () => {
    const effects: string[] = [];
    const studio = {
      async open(scene: string, look: unknown) {
        effects.push(`${scene} by ${look}`);
        return 7;
      },
      async frame(film: number, at: number) {
        effects.push(`${film}/${at}`);
      },
    };
    const client = await open(guide.createFilmServer(createMemoryStorage(), studio));
    const task = await startTool(client, "render", { scene: "the harbour" });
    expect(task.ref?.tool).toBe("render");
    expect((await task.result).content).toEqual([{ type: "text", text: "Film 7 is ready" }]);
    expect(effects).toEqual(["the harbour by night", "7/1", "7/2", "7/3"]);
  });

  test("a job of another system is looked at to its end, and stopped when its task is cancelled", async () => {
    const server = createServer({ name: "farm", version: "1.0.0" }).extend(tasks({ pollMs: 10 }));
    const stopped: string[] = [];
    let percent = 0;
    const farm = {
      submit: async (scene: unknown) => `${scene}-1`,
      percent: async (id: string) => {
        if (id === "endless-1") return 0;
        percent += 50;
        return percent;
      },
      stop: (id: string) => void stopped.push(id),
    };
    const client = await open(guide.addFarm(server, farm));
    expect((await client.callTool("farm", { scene: "harbour" })).content).toEqual([
      { type: "text", text: "Rendered by job harbour-1" },
    ]);
    const endless = await startTool(client, "farm", { scene: "endless" });
    endless.result.catch(() => {});
    for await (const { message } of endless.events) if (message === "0 %") break;
    await endless.cancel();
    while (stopped.length === 0) await client.listTools();
    expect(stopped).toEqual(["endless-1"]);
  });

  test("small and quick calls are no tasks where the server decides", async () => {
    const server = createServer({ name: "import", version: "1.0.0" }).extend(tasks());
    const client = await open(guide.addImport(server, async (rows: number) => `${rows} rows`));
    for (const rows of [10, 10_000]) {
      const task = await startTool(client, "import", { rows });
      expect(task.ref === undefined).toBe(era === "stateless");
      expect((await task.result).content).toEqual([{ type: "text", text: `${rows} rows` }]);
    }
  });
});
