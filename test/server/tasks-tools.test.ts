import { createServer, inputRequired, type Servable, type Server } from "portolan/server";
import { job, tasks } from "portolan/server/tasks";
import { createMemoryStorage } from "portolan/storage";
import { describe, expect, onTestFinished, test } from "vitest";
import { connectMemory, type RawPeer } from "../kit/raw-peer.ts";

const capabilities = { extensions: { "io.modelcontextprotocol/tasks": {} }, elicitation: { form: {} } };
const info = { name: "tools", version: "1.0.0" };
const run = () => "done";

async function open(server: Servable, more = {}): Promise<RawPeer> {
  const peer = await connectMemory(server, { revision: "2026-07-28", capabilities, ...more });
  onTestFinished(() => peer.close());
  return peer;
}

async function ended(peer: RawPeer, name: string) {
  const { result: task } = await peer.request("tools/call", { name });
  for (;;) {
    const { result } = await peer.request("tasks/get", { taskId: task.taskId });
    if (/completed|failed|cancelled/.test(result.status)) return result;
  }
}

describe("the member task of a tool", () => {
  const define = (task: unknown, more = {}) => {
    return () =>
      createServer(info)
        .extend(tasks())
        .tool("film", { task, run, ...more } as never);
  };

  test.each<[string, () => Server, RegExp]>([
    ["a name that is no mode", define("always"), /task: expected "optional", "required" or an object, got "always"/],
    ["a mode that is none", define({ mode: "always" }), /mode: expected "optional" or "required", got "always"/],
    ["an unknown option", define({ resumes: true }), /unknown option `resumes`; did you mean `resume`/],
    ["a time below zero", define({ ttlMs: -1 }), /ttlMs: expected a number from 0 on, got number -1/],
    ["a choice that is none", define({ mode: "required", when: () => true }), /when: a tool that requires a task/],
    ["a condition that is no function", define({ when: true }), /when: expected a function, got boolean true/],
    ["a waiting handler that runs again", define({ resume: true }, { asks: "park" }), /omit asks: "park"/],
    [
      "a server without tasks",
      () => createServer(info).tool("film", { task: "optional", run }),
      /\.extend\(tasks\(\)\)/,
    ],
    [
      "an unknown option of the extension",
      () => createServer(info).extend(tasks({ ttl: 1 } as never)),
      /did you mean `ttlMs`/,
    ],
    [
      "a job without a look",
      () => createServer(info).tool("film", { run: job({ start: run } as never) }),
      /look: expected a/,
    ],
  ])("%s is refused with a reason", (_, mistake, why) => {
    expect(mistake).toThrow(why);
  });
});

test("a mounted server brings its tasks along", async () => {
  const extension = tasks({ pollMs: 10 });
  const mounted = createServer(info).extend(extension).tool("film", { task: "required", run });
  const outer = createServer(info).mount("studio.", mounted);
  expect((await ended(await open(outer), "studio.film")).result.content[0].text).toBe("done");
  const older = await open(outer, { revision: "2025-11-25" });
  const { result } = await older.request("tools/list");
  expect(result.tools[0]).toMatchObject({ name: "studio.film", execution: { taskSupport: "required" } });
});

test("middleware runs around the work of a task, and may answer in its place", async () => {
  const seen: string[] = [];
  const server = createServer(info)
    .extend(tasks())
    .use((exchange, next) => {
      seen.push(exchange.method);
      return next(exchange);
    })
    .tool("film", { task: "optional", run });
  const { result } = await ended(await open(server), "film");
  expect(result.content[0].text).toBe("done");
  expect(seen.filter((method) => method === "tools/call")).toEqual(["tools/call"]);
});

test("a result that the storage did not take is stored when it takes one again", async () => {
  const storage = createMemoryStorage();
  let fails = 0;
  const errors: unknown[] = [];
  const kv: typeof storage.kv = {
    get: (key) => storage.kv.get(key),
    list: (prefix, options) => storage.kv.list(prefix, options),
    delete: (key) => storage.kv.delete(key),
    async set(...args) {
      if (fails > 0 && args[1].includes('"status":"completed"')) {
        fails -= 1;
        throw new Error("The disk is full");
      }
      return storage.kv.set(...args);
    },
  };
  const server = createServer(info, { storage: { ...storage, kv }, onError: (error) => errors.push(error) })
    .extend(tasks())
    .tool("film", {
      task: "optional",
      run() {
        fails = 2;
        return "done";
      },
    });
  const state = await ended(await open(server), "film");
  expect(state).toMatchObject({ status: "completed", result: { content: [{ text: "done" }] } });
  expect(errors.map(String)).toEqual([
    expect.stringContaining("disk is full"),
    expect.stringContaining("disk is full"),
  ]);
});

test("questions that a handler returns work in a task, with their state", async () => {
  const server = createServer(info)
    .extend(tasks())
    .tool("film", {
      task: "optional",
      run(_, ctx) {
        const answer = ctx.answer("name") as { content?: { name?: string } } | undefined;
        if (answer) return `${answer.content?.name} after ${ctx.state()}`;
        const params = { mode: "form", message: "Which name?", requestedSchema: { type: "object", properties: {} } };
        return inputRequired({
          requests: { name: { method: "elicitation/create", params } as never },
          state: "round 1",
        });
      },
    });
  const peer = await open(server);
  const { result: task } = await peer.request("tools/call", { name: "film" });
  let state = (await peer.request("tasks/get", { taskId: task.taskId })).result;
  while (state.status !== "input_required") state = (await peer.request("tasks/get", { taskId: task.taskId })).result;
  const inputResponses = { name: { action: "accept", content: { name: "Ada" } } };
  await peer.request("tasks/update", { taskId: task.taskId, inputResponses });
  while (state.status !== "completed") state = (await peer.request("tasks/get", { taskId: task.taskId })).result;
  expect(state.result.content[0].text).toBe("Ada after round 1");
});

test("a handler that asks nothing in every round fails its task", async () => {
  const server = createServer(info, { onError() {} })
    .extend(tasks())
    .tool("film", { task: "optional", run: () => inputRequired({ state: 1 }) });
  const state = await ended(await open(server), "film");
  expect(state).toMatchObject({ status: "failed", error: { code: -32_603 } });
});

test("ctx.status is progress in a plain call, with numbers that increase", async () => {
  const server = createServer(info)
    .extend(tasks())
    .tool("film", {
      task: "optional",
      run(_, ctx) {
        ctx.status("begins");
        ctx.progress(1, 3);
        ctx.status("goes on");
        ctx.progress(2, 3, "almost");
        return "done";
      },
    });
  const peer = await open(server, { capabilities: {} });
  await peer.request("tools/call", { name: "film", _meta: { progressToken: "token" } });
  const told = peer.notifications.map(({ params }) => params as { progress: number; message?: string });
  expect(told.map(({ message }) => message)).toEqual(["begins", undefined, "goes on", "almost"]);
  for (const [at, { progress }] of told.entries()) if (at > 0) expect(progress).toBeGreaterThan(told[at - 1]!.progress);
});

test("servers with other names and the same storage do not see each others tasks", async () => {
  const storage = createMemoryStorage();
  const make = (name: string) => createServer({ name, version: "1.0.0" }, { storage, onError() {} }).extend(tasks());
  const first = await open(make("one").tool("film", { task: "optional", run }));
  const { result: task } = await first.request("tools/call", { name: "film" });
  const other = await open(make("two").tool("film", { task: "optional", run }));
  expect((await other.request("tasks/get", { taskId: task.taskId })).error?.code).toBe(-32_602);
});
