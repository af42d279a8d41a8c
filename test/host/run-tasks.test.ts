import type { SamplingMessage } from "portolan";
import { createMemoryStorage } from "portolan/storage";
import type { RunEvent, RunState } from "portolan-host";
import { describe, expect, test, vi } from "vitest";
import { allow, createModel, makeHost } from "./kit.ts";
import { TaskServer } from "./task-server.ts";

const asJson = (state: RunState): RunState => JSON.parse(JSON.stringify(state));
const render: { call: [string, object][] } = { call: [["films__render", { scene: 1 }]] };

/** Returns all text of a message, also that of its tool results. */
function wordsOf(message: SamplingMessage | undefined): string {
  return JSON.stringify(message?.content ?? "");
}

/** Each tool call of a conversation must have exactly one result. */
function checkPairs(messages: readonly SamplingMessage[]): void {
  const blocks = messages.flatMap(({ content }) => content);
  const calls = blocks.flatMap((block) => (block.type === "tool_use" ? [block.id] : []));
  const results = blocks.flatMap((block) => (block.type === "tool_result" ? [block.toolUseId] : []));
  expect(results.toSorted()).toEqual(calls.toSorted());
}

describe.each(["2025-11-25", "2026-07-28"] as const)("tasks of a run on %s", (revision) => {
  async function open(
    model: ReturnType<typeof createModel>,
    storage = createMemoryStorage(),
    server = new TaskServer(revision),
  ) {
    const host = await makeHost({ tasks: true, servers: { films: server.target }, policy: allow, model, storage });
    return { server, host };
  }

  test("by default the run waits for the task, and tells of it", async () => {
    const model = createModel(render, { say: "done" });
    const { server, host } = await open(model);
    const run = host.run("Render it");
    const events: RunEvent[] = [];
    for await (const event of run) {
      events.push(event);
      if (event.type === "task" && event.how === "created") server.finish("a film");
    }
    const tasks = events.flatMap((event) => (event.type === "task" ? [`${event.how} ${event.task.state}`] : []));
    expect(tasks).toEqual(["created working", "ended completed"]);
    const done = await run.result;
    expect(done.tasks).toBeUndefined();
    expect(wordsOf(model.asked[1]?.messages.at(-1))).toContain("a film");
    expect(host.tasks.list()).toEqual([]);
  });

  test("in the background the model goes on, and gets the result in a later turn", async () => {
    let server: TaskServer | undefined;
    const model = createModel(
      render,
      () => {
        server?.finish("a film");
        return { call: [["find_tools", { query: "x" }]] };
      },
      () => ({ say: "waiting" }),
      { say: "all done" },
    );
    const opened = await open(model);
    server = opened.server;
    server.immediateText = "Rendering has begun.";
    const first = await opened.host.run("Render it", { tasks: "background" }).result;
    const immediate = wordsOf(model.asked[1]?.messages.at(-1));
    expect(immediate).toContain("goes on as a task");
    expect(immediate).toContain("Data from tool render of server");
    expect(immediate).toContain("Rendering has begun.");
    // The end of the task comes in this run, or in the one that continues it.
    const last = first.tasks ? await opened.host.run(asJson(first.state), { tasks: "background" }).result : first;
    expect(last).toMatchObject({ reason: "done" });
    expect(last.tasks).toBeUndefined();
    const late = last.state.messages.find((message) => wordsOf(message).includes("a film"));
    expect(late?.role).toBe("user");
    expect(wordsOf(late)).toContain("which went on as a task, has ended");
    expect(wordsOf(late)).toContain("Data from tool render of server");
    checkPairs(last.state.messages);
    expect(last.state.contentFrom).toEqual(["films"]);
    expect(opened.host.tasks.list()).toEqual([]);
  });

  test("a run that ends names its open tasks, and the run that continues waits for them", async () => {
    const model = createModel(render, { say: "I shall tell you" }, { say: "The film is there" });
    const { server, host } = await open(model);
    const first = await host.run("Render it", { tasks: "background" }).result;
    const open1 = [{ id: host.tasks.list()[0]?.id, callId: "t1.0", server: "films", tool: "render" }];
    expect(first).toMatchObject({ reason: "done", text: "I shall tell you", tasks: open1, state: { tasks: open1 } });
    const second = host.run(asJson(first.state), { tasks: "background" });
    server.finish("a film");
    const done = await second.result;
    expect(done).toMatchObject({ reason: "done", text: "The film is there" });
    expect(done.tasks).toBeUndefined();
    checkPairs(done.state.messages);
    expect(wordsOf(model.asked[2]?.messages.at(-1))).toContain("a film");
  });

  test("a later run with the state as history gets the result, too", async () => {
    const model = createModel(
      render,
      { say: "begun" },
      { call: [["find_tools", { query: "x" }]] },
      { say: "noon" },
      { say: "and a film" },
    );
    const { server, host } = await open(model);
    const first = await host.run("Render it", { tasks: "background" }).result;
    server.finish("a film");
    await vi.waitFor(() => expect(host.tasks.list()[0]?.state).toBe("completed"));
    const second = await host.run("What time is it?", { history: first.state }).result;
    const last = second.tasks ? await host.run(second.state).result : second;
    expect(last.tasks).toBeUndefined();
    expect(JSON.stringify(last.state.messages)).toContain("a film");
    expect(last.state.contentFrom).toEqual(["films"]);
  });

  test("a run continues on a restarted host", async () => {
    const storage = createMemoryStorage();
    const model = createModel(render, { say: "begun" }, { say: "a film" });
    const { server, host } = await open(model, storage);
    const first = await host.run("Render it", { tasks: "background" }).result;
    await host.close();
    server.finish("a film");
    const again = await open(model, storage, server);
    const done = await again.host.run(asJson(first.state)).result;
    expect(done).toMatchObject({ reason: "done", text: "a film" });
    expect(wordsOf(model.asked[2]?.messages.at(-1))).toContain("a film");
    expect(done.state.contentFrom).toEqual(["films"]);
  });

  test.each([
    ["after the task was noted", true],
    ["before the task was noted", false],
  ])("a run interrupted %s waits for the task of its call, and calls nothing twice", async (_, isNoted) => {
    const storage = createMemoryStorage();
    const model = createModel(render, { say: "a film" });
    const { server, host } = await open(model, storage);
    const states: RunState[] = [];
    const run = host.run("Render it", { checkpoint: async (state) => void states.push(asJson(state)) });
    await vi.waitFor(() => expect(states.at(-1)?.pending[0]?.task).toBeDefined());
    const begun = states.find(({ pending }) => pending[0]?.begun);
    const stored = isNoted ? states.at(-1) : begun;
    expect(stored?.pending).toMatchObject([{ begun: true }]);
    expect(stored?.pending[0]?.task).toBe(isNoted ? host.tasks.list()[0]?.id : undefined);
    await host.close();
    await run.result;
    const again = await open(model, storage, server);
    const second = again.host.run(stored as RunState, { uncertain: "ask-again" });
    server.finish("a film");
    expect((await second.result).reason).toBe("done");
    expect(wordsOf(model.asked[1]?.messages.at(-1))).toContain("a film");
    expect(server.jobs.size).toBe(1);
  });

  test("a conversation that goes on after a crash hears of the task that its call became", async () => {
    const storage = createMemoryStorage();
    const model = createModel(render, { say: "noon" }, { say: "and a film" });
    const { server, host } = await open(model, storage);
    const states: RunState[] = [];
    const run = host.run("Render it", { checkpoint: async (state) => void states.push(asJson(state)) });
    await vi.waitFor(() => expect(states.at(-1)?.pending[0]?.task).toBeDefined());
    const stored = states.find(({ pending }) => pending[0]?.begun) as RunState;
    expect(stored.pending[0]?.task).toBeUndefined();
    await host.close();
    await run.result;
    const again = await open(model, storage, server);
    const first = await again.host.run("What time is it?", { history: stored }).result;
    expect(wordsOf(model.asked[1]?.messages.at(-2))).toContain("goes on as a task");
    expect(first.tasks).toMatchObject([{ callId: "t1.0", tool: "render" }]);
    server.finish("a film");
    const last = await again.host.run(first.state).result;
    expect(last).toMatchObject({ reason: "done", text: "and a film" });
    expect(wordsOf(model.asked[2]?.messages.at(-1))).toContain("a film");
    expect(server.jobs.size).toBe(1);
  });

  test("a run that waits when its host closes waits for the same task afterwards, and calls nothing twice", async () => {
    const storage = createMemoryStorage();
    const model = createModel(render, { say: "a film" });
    const { server, host } = await open(model, storage);
    const run = host.run("Render it");
    await vi.waitFor(() => expect(host.tasks.list()).toHaveLength(1));
    await host.close();
    const first = await run.result;
    expect(first).toMatchObject({
      reason: "cancelled",
      state: { pending: [{ id: "t1.0", task: expect.any(String) }] },
    });
    expect(server.job().status).toBe("working");
    server.finish("a film");
    const again = await open(model, storage, server);
    const done = await again.host.run(asJson(first.state)).result;
    expect(done).toMatchObject({ reason: "done", text: "a film" });
    expect(server.jobs.size).toBe(1);
    checkPairs(done.state.messages);
  });

  test("a run that the user cancels while it waits cancels the task", async () => {
    const { server, host } = await open(createModel(render));
    const run = host.run("Render it");
    await vi.waitFor(() => expect(host.tasks.list()).toHaveLength(1));
    run.cancel();
    const { reason, state } = await run.result;
    expect(reason).toBe("cancelled");
    expect(state.pending).toEqual([]);
    await vi.waitFor(() => expect(server.job().status).toBe("cancelled"));
  });

  test("a run that is cancelled leaves its background tasks, with their place in the state", async () => {
    const { server, host } = await open(createModel(render, { call: [["films__render", { scene: 2 }]] }, { say: "x" }));
    const run = host.run("Render it", { tasks: "background", maxCalls: 1 });
    const done = await run.result;
    expect(done).toMatchObject({ reason: "max-calls", tasks: [{ tool: "render" }] });
    expect(server.job().status).toBe("working");
    expect(host.tasks.list()).toHaveLength(1);
  });

  test("a failed task reaches the model as a failure", async () => {
    const model = createModel(render, { say: "begun" }, { say: "sorry" });
    const { server, host } = await open(model);
    const first = await host.run("Render it", { tasks: "background" }).result;
    server.finish("out of ink", { isError: true });
    await host.run(first.state).result;
    expect(wordsOf(model.asked[2]?.messages.at(-1))).toContain("has failed");
    expect(wordsOf(model.asked[2]?.messages.at(-1))).toContain("out of ink");
  });

  test("the server of a task that cannot be reached keeps the task in the state", async () => {
    const { server, host } = await open(createModel(render, { say: "begun" }));
    const first = await host.run("Render it", { tasks: "background" }).result;
    await host.stop("films");
    server.isDown = true;
    const run = host.run(first.state);
    const notices: string[] = [];
    for await (const event of run) if (event.type === "notice") notices.push(event.text);
    const done = await run.result;
    expect(done).toMatchObject({ reason: "done", tasks: [{ tool: "render" }] });
    expect(notices.join()).toContain("is not followed");
  });
});

test("background tasks need a host with tasks", async () => {
  const host = await makeHost({ model: createModel() });
  expect(() => host.run("go", { tasks: "background" })).toThrow("pass `tasks: true` to createHost");
  expect(() => host.run("go", { tasks: "later" as never })).toThrow('tasks: expected "wait" or "background"');
});
