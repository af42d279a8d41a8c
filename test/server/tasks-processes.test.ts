import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createServer, form } from "portolan/server";
import { tasks } from "portolan/server/tasks";
import { createRedisStorage } from "portolan/storage/redis";
import { expect, onTestFinished, test } from "vitest";
import { ChildChannel, connectMemory, RawPeer } from "../kit/raw-peer.ts";
import { libraries } from "../storage/redis-clients.ts";
import { startRedis } from "../storage/redis-server.ts";

const declared = { extensions: { "io.modelcontextprotocol/tasks": {} }, elicitation: { form: {} } };
const name = form({ type: "object", properties: { name: { type: "string" } }, required: ["name"] });

/** Two servers with connections of their own to one Redis, as two processes are. */
async function twoServers() {
  const redis = await startRedis();
  const stopped: string[] = [];
  const open = async (own: string, revision: "2025-11-25" | "2026-07-28" = "2026-07-28") => {
    const connection = libraries["redis 6"].single(redis.port);
    const storage = createRedisStorage(connection.client);
    const server = createServer({ name: "two", version: "1.0.0" }, { storage, onError() {} })
      .extend(tasks({ pollMs: 10 }))
      .tool("ask", {
        task: "optional",
        async run(_, ctx) {
          const answer = await ctx.elicit("name", { message: "Which name?", form: name });
          return `${answer.action === "accept" ? answer.content["name"] : ""} at ${own}`;
        },
      })
      .tool("park", {
        task: "optional",
        asks: "park",
        async run(_, ctx) {
          const answer = await ctx.elicit("name", { message: "Which name?", form: name });
          return `${answer.action === "accept" ? answer.content["name"] : ""} at ${own}`;
        },
      })
      .tool("wait", {
        task: "optional",
        run: (_, ctx) =>
          new Promise((_resolve, reject) => {
            ctx.signal.addEventListener("abort", () => {
              stopped.push(own);
              reject(ctx.signal.reason);
            });
          }),
      });
    const peer = await connectMemory(server, { revision, capabilities: declared });
    onTestFinished(async () => {
      await peer.close();
      await connection.close();
    });
    return peer;
  };
  const peers = { one: await open("one"), two: await open("two"), older: await open("two", "2025-11-25") };
  onTestFinished(() => redis.stop());
  return { ...peers, stopped };
}

const start = async (peer: RawPeer, tool: string): Promise<string> =>
  (await peer.request("tools/call", { name: tool })).result.taskId;

async function until(peer: RawPeer, taskId: string, status: string) {
  for (;;) {
    const { result } = await peer.request("tasks/get", { taskId });
    if (result?.status === status) return result;
  }
}

test("X44: a task is found by every process as soon as its id is told", async () => {
  const { one, two } = await twoServers();
  for (let count = 0; count < 20; count += 1) {
    const taskId = await start(one, "wait");
    expect((await two.request("tasks/get", { taskId })).result.status).toBe("working");
  }
});

test("an answer to another process runs the handler there, or reaches the handler that waits in memory", async () => {
  const { one, two } = await twoServers();
  for (const [tool, expected] of [
    ["ask", "Ada at two"],
    ["park", "Ada at one"],
  ] as const) {
    const taskId = await start(one, tool);
    const { inputRequests } = await until(two, taskId, "input_required");
    const [key = ""] = Object.keys(inputRequests);
    await two.request("tasks/update", {
      taskId,
      inputResponses: { [key]: { action: "accept", content: { name: "Ada" } } },
    });
    expect((await until(one, taskId, "completed")).result.content[0].text).toBe(expected);
  }
});

test("a task that another process cancels is stopped, and a waiting request hears of it", async () => {
  const { one, two, older, stopped } = await twoServers();
  const taskId = await start(one, "wait");
  const waiting = older.request("tasks/result", { taskId });
  await two.request("tasks/cancel", { taskId });
  expect((await waiting).error?.code).toBe(-32_602);
  while (stopped.length === 0) await two.request("tasks/get", { taskId });
  expect(stopped).toEqual(["one"]);
});

test("a listener of one process hears of a task of another", async () => {
  const { one, two } = await twoServers();
  const taskId = await start(one, "ask");
  await until(one, taskId, "input_required");
  two.request("subscriptions/listen", { notifications: { taskIds: [taskId] } });
  await two.notification("notifications/subscriptions/acknowledged");
  await one.request("tasks/cancel", { taskId });
  const { params } = await two.notification("notifications/tasks");
  expect(params).toMatchObject({ taskId, status: "cancelled" });
});

test("tasks of a killed process are resumed by another one, or fail, without being asked for", async () => {
  const redis = await startRedis();
  const folder = mkdtempSync(join(tmpdir(), "portolan-shared-"));
  const program = fileURLToPath(new URL("fixtures/shared-tasks.mjs", import.meta.url));
  const open = async (own: string) => {
    const channel = new ChildChannel(process.execPath, [program, String(redis.port), folder, own]);
    onTestFinished(async () => {
      channel.child.kill("SIGKILL");
      await channel.exited;
    });
    const peer = await new RawPeer(channel, { revision: "2026-07-28", capabilities: declared }).start();
    return Object.assign(peer, { child: channel.child });
  };
  onTestFinished(async () => {
    await redis.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const [first, second] = [await open("first"), await open("second")];
  await second.request("server/discover");
  const resumed = await start(first, "resumed");
  const once = await start(first, "once");
  const notes = () => {
    try {
      return readFileSync(join(folder, "notes"), "utf8").trim().split("\n");
    } catch {
      return [];
    }
  };
  while (notes().filter((line) => line === "first effect").length < 2) await first.request("server/discover");
  const written = await until(first, resumed, "working");
  expect(written.status).toBe("working");
  first.child.kill("SIGKILL");
  // Nobody asks for the task, so that the second process has to find it.
  while (!notes().includes("second runs")) await second.request("server/discover");
  const { result } = await until(second, resumed, "completed");
  expect(result.content[0].text).toBe("done by second");
  expect((await until(second, once, "failed")).statusMessage).toBe("The process that ran the task has ended");
  expect(notes().sort()).toEqual(["first effect", "first effect", "first runs", "first runs", "second runs"]);
});
