import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { connect } from "portolan/client";
import { hasTasks, listTasks, resumeTask, startTool, storedTasks, tasks } from "portolan/client/tasks";
import { createServer as defineServer } from "portolan/server";
import { createMemoryStorage, type KeyValue } from "portolan/storage";
import { connectInMemory, createClock } from "portolan/testing";
import { expect, test } from "vitest";
import { openEndpoint } from "../requirements/client/kit/endpoints.ts";
import { ScriptedServer } from "../requirements/client/kit/scripted-server.ts";
import { passing, question, stateOf, taskId, taskServer } from "../requirements/client/kit/tasks.ts";

const plain = defineServer({ name: "plain", version: "1" }).tool("add", { run: () => "three" });
const newest = "2026-07-28";
const clock = createClock();

/** Opens a server with one task, and connects to it. */
async function openScripted(script: Parameters<typeof taskServer>[1], store?: KeyValue) {
  const server = new ScriptedServer(newest, taskServer(newest, script));
  const { target } = await openEndpoint("memory", server);
  const errors: Error[] = [];
  const extensions = [tasks(store && { store })];
  const onError = (error: Error) => errors.push(error);
  const client = await connect(target, { era: newest, extensions, clock, onError, idleMs: 10 ** 9 });
  return { client, server, errors };
}

test("startTool of a client without tasks calls the tool plainly, the other functions say what is missing", async () => {
  await using client = await connectInMemory(plain);
  expect(hasTasks(client)).toBe(false);
  const task = await startTool(client, "add");
  expect(task.ref).toBeUndefined();
  expect((await task.result).content).toEqual([{ type: "text", text: "three" }]);
  await task.cancel();
  task.detach();
  for await (const state of task.events) throw new Error(`unexpected ${state.status}`);
  const ref = { server: "plain", taskId: "t", dialect: "core", tool: "add" } as const;
  expect(() => resumeTask(client, ref)).toThrow("the client was connected without tasks()");
  await expect(listTasks(client)).rejects.toMatchObject({ code: "capability-missing" });
  await expect(storedTasks(client)).rejects.toMatchObject({ code: "capability-missing" });
});

test("a call that fails before there is a task rejects startTool", async () => {
  await using client = await connectInMemory(plain, { extensions: [tasks()] });
  await expect(startTool(client, "nonesuch")).rejects.toMatchObject({ code: -32602 });
});

test("options that do not exist are refused", async () => {
  expect(() => tasks({ storage: {} } as never)).toThrow("tasks: unknown option `storage`; did you mean `store`?");
  await using client = await connectInMemory(plain, { extensions: [tasks()] });
  await expect(startTool(client, "add", {}, { ttl: 3 } as never)).rejects.toThrow("unknown option `ttl`");
  await expect(startTool(client, "add", {}, { ttlMs: -1 })).rejects.toThrow("ttlMs: expected a number from 0 on");
});

test("a ref of another server, or none at all, is refused", async () => {
  const { client } = await openScripted({ steps: [] });
  const ref = { server: "another", taskId, dialect: "extension", tool: "render" } as const;
  expect(() => resumeTask(client, ref)).toThrow('expected a task of the server "scripted", got one of "another"');
  expect(() => resumeTask(client, {} as never)).toThrow("resumeTask: ref.server: expected a string");
  await client.close();
});

test("a task that is waited for already is not resumed a second time", async () => {
  const { client } = await openScripted({ steps: [{ status: "working" }] });
  const { ref } = await startTool(client, "render");
  if (!ref) throw new Error("no task");
  expect(() => resumeTask(client, ref)).toThrow(`this client waits for task ${taskId} already`);
  await client.close();
});

test("the end of the connection fails the call, keeps the ref, and cancels nothing", async () => {
  const store = createMemoryStorage().kv;
  const { client, server } = await openScripted({ steps: [{ status: "working" }] }, store);
  const { result, ref } = await startTool(client, "render");
  await client.close();
  await expect(result).rejects.toMatchObject({ code: "connection-closed" });
  expect(server.of("tasks/cancel")).toEqual([]);
  expect((await store.list("task/")).map(({ value }) => JSON.parse(value))).toEqual([ref]);
  expect(clock.pending).toBe(0);
  if (!ref) throw new Error("no task");
  await expect(resumeTask(client, ref).result).rejects.toMatchObject({ code: "connection-closed" });
});

test("a store that fails rejects startTool and cancels the task, but not a driven call", async () => {
  const failing: KeyValue = {
    get: async () => undefined,
    set: () => Promise.reject(new Error("disk full")),
    delete: async () => {},
    list: async () => [],
  };
  const { client, server, errors } = await openScripted({ steps: [{ status: "completed" }] }, failing);
  await expect(startTool(client, "render")).rejects.toMatchObject({ code: "store-failed" });
  await server.arrival("tasks/cancel");
  expect((await passing(clock, client.callTool("render"))).content).toEqual([{ type: "text", text: "the result" }]);
  expect(errors.map(({ message }) => message)).toEqual(["The task of render could not be stored: disk full"]);
  await client.close();
});

test("a task with more questions than anyone would answer fails", async () => {
  const inputRequests = Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`q${index}`, question("?")]));
  const { client } = await openScripted({ steps: [{ status: "input_required", inputRequests }] });
  const called = client.callTool("render", {}, { answers: { elicit: () => new Promise(() => {}) } });
  await expect(passing(clock, called)).rejects.toMatchObject({ code: "limit-reached" });
  await client.close();
});

test("a long status message is cut", async () => {
  const more = { statusMessage: "x".repeat(1_000_000) };
  const { client } = await openScripted({ steps: [], begin: { status: "working", more } });
  const { state } = await startTool(client, "render");
  expect(state?.message).toHaveLength(2_000);
  await client.close();
});

test("the text for the model is passed on", async () => {
  const _meta = { "io.modelcontextprotocol/model-immediate-response": "Rendering has begun." };
  const { client } = await openScripted({ steps: [], begin: { status: "working", more: { _meta } } });
  expect((await startTool(client, "render")).immediateText).toBe("Rendering has begun.");
  await client.close();
});

test("a process that waits for a task over HTTP stays alive between two polls", async () => {
  let polls = 0;
  const script = taskServer(newest, { steps: [] });
  const listener = createServer(async (request, response) => {
    const { id, method } = (await json(request)) as { id: number; method: string };
    let result: unknown = { ...stateOf(newest, { status: "working" }), pollIntervalMs: 250 };
    if (method === "server/discover") result = { supportedVersions: [newest], capabilities: script.offers, ttlMs: 0 };
    else if (method === "tools/call") result = { ...Object(result), resultType: "task" };
    else if (method === "tasks/get") {
      polls += 1;
      if (polls === 2)
        result = {
          ...stateOf(newest, { status: "completed" }),
          result: { content: [{ type: "text", text: "alive" }] },
        };
    } else {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { "content-type": "application/json", connection: "close" });
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result: { resultType: "complete", ...Object(result) } }));
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address() as AddressInfo;
  const program = fileURLToPath(new URL("./fixtures/polling-client.mjs", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [program, `http://127.0.0.1:${port}/mcp`]);
  expect(stdout).toBe("alive\n");
  expect(polls).toBe(2);
  listener.close();
});
