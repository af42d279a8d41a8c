import { createServer } from "portolan/server";
import { tasks } from "portolan/server/tasks";
import { createMemoryStorage } from "portolan/storage";
import { describe, expect, test, vi } from "vitest";
import { allow, createModel, inMemory, makeHost, nextEvent, textOf } from "./kit.ts";

/** A server whose tool waits until the test lets it end. */
function createFilms() {
  let end: (text: string) => void = () => {};
  const ended = new Promise<string>((resolve) => {
    end = resolve;
  });
  const server = createServer({ name: "films", version: "1" })
    .extend(tasks({ storage: createMemoryStorage(), pollMs: 250 }))
    .tool("render", {
      task: "optional",
      run(_, context) {
        context.progress(3, 40, "3 of 40 frames");
        return ended;
      },
    })
    .tool("ask", {
      task: "required",
      async run(_, context) {
        const form = { type: "object", properties: { name: { type: "string" } }, required: ["name"] } as const;
        return JSON.stringify(await context.elicit("name", { message: "Which name?", form }));
      },
    });
  return { server, end };
}

describe.each(["2025-11-25", "2026-07-28"] as const)("tasks of our server in our host on %s", (revision) => {
  async function open(more: Parameters<typeof makeHost>[0] = {}) {
    const films = createFilms();
    const servers = { films: inMemory(films.server, { era: revision }) };
    return { ...films, host: await makeHost({ tasks: true, servers, policy: allow, ...more }) };
  }

  test("start, events, result", async () => {
    const { host, end } = await open();
    const events = host.events({ kinds: ["task"] });
    const { task } = await host.tasks.start("films", "render");
    expect(task).toMatchObject({ tool: "render", state: "working" });
    end("a film");
    expect(textOf(await host.tasks.wait(task?.id ?? ""))).toBe("a film");
    await nextEvent(events, "task", ({ how }) => how === "ended");
  });

  test("a question", async () => {
    const { host } = await open({ answers: { elicit: () => ({ action: "accept", content: { name: "Ada" } }) } });
    expect(textOf(await host.callTool("films", "ask"))).toContain("Ada");
  });

  test("cancel", async () => {
    const { host } = await open();
    const { task } = await host.tasks.start("films", "render");
    await host.tasks.cancel(task?.id ?? "");
    await vi.waitFor(() => expect(host.tasks.list()).toMatchObject([{ state: "cancelled" }]));
  });

  test("a run in the background", async () => {
    const films = await open();
    const model = createModel(
      { call: [["films__render", {}]] },
      () => {
        films.end("a film");
        return { say: "begun" };
      },
      { say: "The film is there" },
    );
    let done = await films.host.run("Render it", { model, tasks: "background" }).result;
    if (done.tasks) done = await films.host.run(done.state, { model }).result;
    expect(done).toMatchObject({ reason: "done", text: "The film is there" });
  });
});

test("on older revisions the tool is called plainly", async () => {
  const { server, end } = createFilms();
  const host = await makeHost({
    tasks: true,
    servers: { films: inMemory(server, { era: "2025-06-18" }) },
    policy: allow,
  });
  end("a film");
  expect(await host.tasks.start("films", "render")).toMatchObject({ result: { content: [{ text: "a film" }] } });
});
