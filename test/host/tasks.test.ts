import { createServer } from "portolan/server";
import { createMemoryStorage, type KeyValue } from "portolan/storage";
import { folderKeyValue } from "portolan/storage/node";
import type { HostTask } from "portolan-host";
import { createHost } from "portolan-host";
import { describe, expect, test, vi } from "vitest";
import { activityEntries, allow, functionsOf, inMemory, makeFolder, makeHost, nextEvent, textOf } from "./kit.ts";
import { TaskServer } from "./task-server.ts";

const plain = createServer({ name: "plain", version: "1" }).tool("add", { run: () => "three" });

/** Returns the only task of a list. */
function only(tasks: readonly HostTask[]): HostTask {
  expect(tasks).toHaveLength(1);
  return tasks[0] as HostTask;
}

describe.each(["2025-11-25", "2026-07-28"] as const)("tasks on %s", (revision) => {
  async function open(options: Parameters<typeof makeHost>[0] = {}) {
    const server = new TaskServer(revision);
    const host = await makeHost({ tasks: true, servers: { films: server.target }, policy: allow, ...options });
    return { server, host };
  }

  test("callTool waits for the task, which is listed meanwhile", async () => {
    const { server, host } = await open();
    const called = host.callTool("films", "render", { scene: 1 });
    await vi.waitFor(() => expect(host.tasks.list()).toHaveLength(1));
    expect(only(host.tasks.list())).toMatchObject({
      server: "films",
      tool: "render",
      state: "working",
      isFollowed: true,
      startedAt: expect.stringMatching(/^\d{4}-.*Z$/),
      expiresAt: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    server.finish("a film");
    expect(textOf(await called)).toBe("a film");
    expect(host.tasks.list()).toEqual([]);
  });

  test("start resolves with the task, and wait with its result, once", async () => {
    const { server, host } = await open();
    const started = await host.tasks.start("films", "render", { scene: 1 });
    expect(started).toMatchObject({ task: { tool: "render", state: "working" } });
    expect(server.job().args).toEqual({ scene: 1 });
    const id = started.task?.id ?? "";
    expect(id).toMatch(/^[a-z0-9]{8,10}$/);
    const waits = Promise.all([host.tasks.wait(id), host.tasks.wait(id)]);
    server.finish("a film");
    expect((await waits).map(textOf)).toEqual(["a film", "a film"]);
    expect(host.tasks.list()).toEqual([]);
    await expect(host.tasks.wait(id)).rejects.toThrow(`there is no task "${id}"`);
  });

  test("an ended task stays in the list until its result is taken", async () => {
    const { server, host } = await open();
    const events = host.events({ kinds: ["task"] });
    const { task } = await host.tasks.start("films", "render");
    server.finish("out of ink", { isError: true });
    await nextEvent(events, "task", ({ how }) => how === "ended");
    expect(only(host.tasks.list())).toMatchObject({ state: "failed", isFollowed: false });
    expect(await host.tasks.wait(task?.id ?? "")).toMatchObject({ isError: true });
    expect(host.tasks.list()).toEqual([]);
  });

  test("events tell the states, with the text of the server escaped and cut", async () => {
    const { server, host } = await open();
    const events = host.events({ kinds: ["task"] });
    const { task } = await host.tasks.start("films", "render");
    expect(await nextEvent(events, "task")).toMatchObject({ how: "created", server: "films", task: { id: task?.id } });
    server.job().message = `\u001b[2Jalmost ${"x".repeat(5_000)}`;
    const { task: changed } = await nextEvent(events, "task", ({ how }) => how === "changed");
    expect(changed.message).toContain("\\u{1b}[2Jalmost xxx");
    expect(changed.message?.length).toBeLessThan(600);
    server.finish("a film");
    expect(await nextEvent(events, "task")).toMatchObject({ how: "ended", task: { state: "completed" } });
  });

  test("unread events of a task replace each other", async () => {
    const { server, host } = await open();
    const events = host.events({ kinds: ["task"] });
    const { task } = await host.tasks.start("films", "render");
    server.finish("a film");
    await host.tasks.wait(task?.id ?? "");
    await host.close();
    const kinds: string[] = [];
    for await (const event of events) if (event.kind === "task") kinds.push(event.how);
    expect(kinds).toEqual(["ended"]);
  });

  test("the call is logged when it begins, and its result when the task has ended", async () => {
    const { server, host } = await open();
    const { task } = await host.tasks.start("films", "render", { scene: 1 });
    await vi.waitFor(async () => expect(await activityEntries(host, "call")).toHaveLength(1));
    server.finish("a film");
    await host.tasks.wait(task?.id ?? "");
    const [call, result, ...more] = await activityEntries(host, "call", "result");
    expect(call).toMatchObject({ server: "films", name: "render", args: { scene: 1 } });
    expect(result).toMatchObject({ of: "call", id: call?.["id"], result: { content: [{ text: "a film" }] } });
    expect(more).toEqual([]);
  });

  test("start asks for consent, and starts nothing without it", async () => {
    const { server, host } = await open({ policy: [], answers: { approve: () => ({ allow: false, reason: "no" }) } });
    await expect(host.tasks.start("films", "render")).rejects.toMatchObject({ code: "denied" });
    expect(server.jobs.size).toBe(0);
  });

  test("a question of a task is an ordinary question of the host", async () => {
    const { server, host } = await open({ answers: { elicit: "later" } });
    const events = host.events({ kinds: ["question"] });
    const { task } = await host.tasks.start("films", "render");
    server.ask("Which name?");
    const { question } = await nextEvent(events, "question");
    expect(question).toMatchObject({ kind: "elicit", server: "films", params: { message: "Which name?" } });
    expect(only(host.tasks.list())).toMatchObject({ id: task?.id, state: "input_required" });
    await host.answer(question.id, { action: "accept", content: { name: "Ada" } });
    await vi.waitFor(() => expect(JSON.stringify(server.answers)).toContain("Ada"));
    server.finish("a film");
    expect(textOf(await host.tasks.wait(task?.id ?? ""))).toBe("a film");
  });

  test("cancel cancels the task of the server", async () => {
    const { server, host } = await open();
    const { task } = await host.tasks.start("films", "render");
    const waiting = host.tasks.wait(task?.id ?? "");
    const failed = expect(waiting).rejects.toMatchObject({ code: "cancelled" });
    await host.tasks.cancel(task?.id ?? "");
    await failed;
    expect(server.job().status).toBe("cancelled");
  });

  test("the signal of callTool cancels the task, that of start and wait does not", async () => {
    const { server, host } = await open();
    const called = new AbortController();
    const calling = host.callTool("films", "render", {}, { signal: called.signal });
    const aborted = expect(calling).rejects.toMatchObject({ name: "AbortError", requestMayHaveRun: true });
    await vi.waitFor(() => expect(host.tasks.list()).toHaveLength(1));
    called.abort();
    await aborted;
    await vi.waitFor(() => expect(server.job().status).toBe("cancelled"));

    const started = new AbortController();
    const { task } = await host.tasks.start("films", "render", {}, { signal: started.signal });
    const waiting = host.tasks.wait(task?.id ?? "", { signal: started.signal });
    const left = expect(waiting).rejects.toThrow();
    started.abort();
    await left;
    server.finish("a film", { id: "task-2" });
    expect(textOf(await host.tasks.wait(task?.id ?? ""))).toBe("a film");
  });

  test("a task goes on while its connection is lost", async () => {
    const { server, host } = await open();
    const called = host.callTool("films", "render");
    await vi.waitFor(() => expect(host.tasks.list()).toHaveLength(1));
    server.drop();
    await vi.waitFor(() => expect(server.server.starts).toBe(2), 5_000);
    server.finish("a film");
    expect(textOf(await called)).toBe("a film");
  });

  test("a server that does not know the task any more has lost it", async () => {
    const { server, host } = await open();
    const called = host.callTool("films", "render");
    const lost = expect(called).rejects.toMatchObject({
      code: "task-lost",
      message: expect.not.stringContaining("task-1"),
    });
    await vi.waitFor(() => expect(host.tasks.list()).toHaveLength(1));
    server.jobs.clear();
    server.drop();
    await lost;
    expect(host.tasks.list()).toEqual([]);
  });

  test("a server that is stopped releases those who wait, and its task goes on", async () => {
    const { server, host } = await open();
    const called = host.callTool("films", "render");
    const released = expect(called).rejects.toMatchObject({ code: "task-detached" });
    await vi.waitFor(() => expect(host.tasks.list()).toHaveLength(1));
    await host.stop("films");
    await released;
    expect(server.job().status).toBe("working");
    const { id, isFollowed } = only(host.tasks.list());
    expect(isFollowed).toBe(false);
    server.finish("a film");
    // Starts the server again.
    expect(textOf(await host.tasks.wait(id))).toBe("a film");
    const results = await activityEntries(host, "result");
    expect(results).toMatchObject([{ name: "render", result: { content: [{ text: "a film" }] } }]);
  });

  test("a restarted host with the same storage follows the task when the server connects", async () => {
    const folder = await makeFolder();
    const server = new TaskServer(revision);
    const options = { tasks: true, servers: { films: server.target }, policy: allow } as const;
    const first = await createHost({ ...options, storage: { kv: folderKeyValue(folder) } });
    const { task } = await first.tasks.start("films", "render", { scene: 1 });
    const waiting = expect(first.tasks.wait(task?.id ?? "")).rejects.toMatchObject({ code: "task-detached" });
    await first.close();
    await waiting;
    expect(server.job().status).toBe("working");

    const second = await makeHost({ ...options, storage: { kv: folderKeyValue(folder) } });
    expect(only(second.tasks.list())).toMatchObject({ id: task?.id, state: "working", isFollowed: false });
    const events = second.events({ kinds: ["task"] });
    await second.start("films");
    expect(await nextEvent(events, "task")).toMatchObject({ how: "changed", task: { isFollowed: true } });
    server.finish("a film");
    await nextEvent(events, "task", ({ how }) => how === "ended");
    const [result] = await activityEntries(second, "result");
    expect(result).toMatchObject({ of: "call", server: "films", name: "render" });
    expect(textOf(await second.tasks.wait(task?.id ?? ""))).toBe("a film");
    await second.close();
    const third = await makeHost({ ...options, storage: { kv: folderKeyValue(folder) } });
    expect(third.tasks.list()).toEqual([]);
  });

  test("a result that nobody has taken is fetched again after a restart, and not logged again", async () => {
    const storage = createMemoryStorage();
    const { server, host } = await open({ storage });
    const events = host.events({ kinds: ["task"] });
    const { task } = await host.tasks.start("films", "render");
    server.finish("a film");
    await nextEvent(events, "task", ({ how }) => how === "ended");
    await host.close();
    const options = { tasks: true, servers: { films: server.target }, policy: allow, storage };
    const second = await makeHost(options);
    await second.start("films");
    expect(only(second.tasks.list())).toMatchObject({ id: task?.id, state: "completed" });
    expect(textOf(await second.tasks.wait(task?.id ?? ""))).toBe("a film");
    expect(await activityEntries(second, "result")).toEqual([]);
  });

  test('resume: "wait" leaves stored tasks alone until somebody waits', async () => {
    const storage = createMemoryStorage();
    const { server, host } = await open({ storage });
    const { task } = await host.tasks.start("films", "render");
    await host.close();
    const polls = server.server.of("tasks/get").length;
    const second = await makeHost({
      tasks: { resume: "wait" },
      servers: { films: server.target },
      policy: allow,
      storage,
    });
    await second.start("films");
    server.finish("a film");
    expect(only(second.tasks.list())).toMatchObject({ isFollowed: false });
    expect(server.server.of("tasks/get")).toHaveLength(polls);
    expect(textOf(await second.tasks.wait(task?.id ?? ""))).toBe("a film");
  });

  test("the id of a task goes to no server with another configuration, and no other account sees it", async () => {
    const storage = createMemoryStorage();
    const { host } = await open({ storage, account: "ada" });
    const { task } = await host.tasks.start("films", "render");
    await host.close();
    const other = new TaskServer(revision);
    const changed = { command: "node", args: ["other.js"] };
    const servers = [
      {
        ...{ name: "films", target: other.target, configured: changed, settings: {} },
        source: { kind: "code" as const },
      },
    ];
    const eve = await makeHost({ tasks: true, servers, policy: allow, storage, account: "eve" });
    expect(eve.tasks.list()).toEqual([]);
    const ada = await makeHost({ tasks: true, servers, policy: allow, storage, account: "ada" });
    await expect(ada.tasks.wait(task?.id ?? "")).rejects.toMatchObject({ code: "server-unavailable" });
    await expect(ada.tasks.cancel(task?.id ?? "")).rejects.toThrow("configuration of the server has changed");
    expect(only(ada.tasks.list())).toMatchObject({ id: task?.id, isFollowed: false });
    expect(other.server.methods).not.toContain("tasks/get");
  });

  test("refresh asks the server for the present state", async () => {
    const storage = createMemoryStorage();
    const { server, host } = await open({ storage });
    const { task } = await host.tasks.start("films", "render");
    await host.close();
    const second = await makeHost({
      tasks: { resume: "wait" },
      servers: { films: server.target },
      policy: allow,
      storage,
    });
    server.job().message = "3 of 40 frames";
    const id = task?.id ?? "";
    expect(await second.tasks.refresh(id)).toMatchObject({
      state: "working",
      message: "3 of 40 frames",
      isFollowed: true,
    });
    server.finish("a film");
    await vi.waitFor(async () => expect(await second.tasks.refresh(id)).toMatchObject({ state: "completed" }));
    expect(textOf(await second.tasks.wait(id))).toBe("a film");
  });

  test("a storage that fails rejects start and cancels the task, but not a call", async () => {
    const storage = createMemoryStorage();
    const { set, ...others } = functionsOf(storage.kv);
    const kv: KeyValue = {
      ...others,
      set: (key, value, options) =>
        key.startsWith("task/") ? Promise.reject(new Error("disk full")) : set(key, value, options),
    };
    const { server, host } = await open({ storage: { kv } });
    const warnings = host.events({ kinds: ["warning"] });
    await expect(host.tasks.start("films", "render")).rejects.toMatchObject({ code: "store-failed" });
    await vi.waitFor(() => expect(server.job().status).toBe("cancelled"));
    const called = host.callTool("films", "render");
    await nextEvent(warnings, "warning", ({ message }) => message.includes("disk full"));
    server.finish("a film", { id: "task-2" });
    expect(textOf(await called)).toBe("a film");
  });

  test("a server with too many open tasks gets no more", async () => {
    const { server, host } = await open();
    for (let count = 0; count < 100; count += 1) await host.tasks.start("films", "render");
    await expect(host.tasks.start("films", "render")).rejects.toMatchObject({ code: "limit-reached" });
    expect(server.jobs.size).toBe(100);
    // A call still waits for its task, without a place in the list.
    const called = host.callTool("films", "render");
    await vi.waitFor(() => expect(server.jobs.size).toBe(101));
    expect(host.tasks.list()).toHaveLength(100);
    server.finish("a film", { id: "task-101" });
    expect(textOf(await called)).toBe("a film");
  });

  test("without the option nothing is declared", async () => {
    const server = new TaskServer(revision, { support: "optional" });
    const host = await makeHost({ servers: { films: server.target }, policy: allow });
    await host.callTool("films", "render").catch(() => {});
    const sent = JSON.stringify(server.server.sent);
    expect(sent).not.toContain("io.modelcontextprotocol/tasks");
    expect(sent).not.toContain('"task"');
  });
});

test("a server without tasks answers start with the result", async () => {
  const host = await makeHost({ tasks: true, servers: { plain: inMemory(plain) }, policy: allow });
  const started = await host.tasks.start("plain", "add");
  expect(started.task).toBeUndefined();
  expect(textOf(started.result ?? { content: [] })).toBe("three");
  expect(host.tasks.list()).toEqual([]);
});

test("a host without tasks says so", async () => {
  const host = await makeHost({ servers: { plain: inMemory(plain) }, policy: allow });
  expect(host.tasks.list()).toEqual([]);
  await expect(host.tasks.start("plain", "add")).rejects.toThrow("pass `tasks: true` to createHost");
  await expect(host.tasks.wait("x")).rejects.toMatchObject({ code: "capability-missing" });
});

test("unknown options are refused", async () => {
  await expect(createHost({ tasks: { resumes: 1 } as never })).rejects.toThrow("tasks: expected true, false");
  const host = await makeHost({ tasks: true, servers: { plain: inMemory(plain) }, policy: allow });
  await expect(host.tasks.start("plain", "add", {}, { ttl: 3 } as never)).rejects.toThrow("unknown option `ttl`");
  await expect(host.tasks.start("plain", "add", {}, { ttlMs: -1 })).rejects.toThrow("ttlMs: expected a number");
  await expect(host.tasks.wait("x", { timeout: 3 } as never)).rejects.toThrow("unknown option `timeout`");
});
