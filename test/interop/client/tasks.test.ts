import { fileURLToPath } from "node:url";
import { connect } from "portolan/client";
import { listTasks, resumeTask, startTool, tasks } from "portolan/client/tasks";
import { describe, expect, test } from "vitest";
import { textOf } from "./feature.ts";

const peers = new URL("../../peers/", import.meta.url);
const program = (path: string) => fileURLToPath(new URL(path, peers));
const everything = program("node_modules/@modelcontextprotocol/server-everything/dist/index.js");

function open(...args: string[]) {
  return connect(
    { command: process.execPath, args, graceMs: 100 },
    {
      extensions: [tasks()],
      answers: {
        elicit: ({ requestedSchema: { properties } }) => {
          const { interpretation } = properties as { interpretation?: { oneOf: { const: string }[] } };
          return { action: "accept", content: interpretation ? { interpretation: "snake" } : { name: "Ada" } };
        },
      },
    },
  );
}

describe("tasks of the official SDK, version 1", () => {
  const openSdk = () => open(program("servers/sdk-v1-tasks.mjs"));

  test("a tool that requires a task is driven to its result", async () => {
    await using client = await openSdk();
    expect(textOf(await client.callTool("required"))).toBe("done");
  });

  test("an optional tool becomes a task with startTool", async () => {
    await using client = await openSdk();
    const task = await startTool(client, "optional", {}, { ttlMs: 30_000 });
    expect(task.ref).toMatchObject({ server: "sdk-v1-tasks", dialect: "core", tool: "optional" });
    expect(textOf(await task.result)).toBe("done");
  });

  test("the text of a failed tool reaches the caller", async () => {
    await using client = await openSdk();
    const result = await client.callTool("fails");
    expect(result.isError).toBe(true);
    expect(textOf(result)).toBe("out of ink");
  });

  test("a question is answered on the response of tasks/result", async () => {
    await using client = await openSdk();
    expect(textOf(await client.callTool("asks"))).toBe("Hello Ada");
  });

  test("tasks are listed, left, resumed and cancelled", async () => {
    await using client = await openSdk();
    const task = await startTool(client, "endless");
    const taskId = task.ref?.taskId;
    expect(await listTasks(client)).toMatchObject([{ taskId, status: "working" }]);
    task.detach();
    if (!task.ref) throw new Error("the server made no task");
    const again = resumeTask(client, task.ref);
    for await (const { status } of again.events) {
      expect(status).toBe("working");
      break;
    }
    await again.cancel();
    await expect(again.result).rejects.toMatchObject({ code: "cancelled" });
    expect(await listTasks(client)).toMatchObject([{ taskId, status: "cancelled" }]);
    const late = resumeTask(client, task.ref);
    await expect(late.result).rejects.toMatchObject({ code: "cancelled" });
    const lost = resumeTask(client, { ...task.ref, taskId: "nonesuch" });
    await expect(lost.result).rejects.toMatchObject({ code: "task-lost" });
  });
});

test("the research of server-everything asks, and ends with its report", async () => {
  await using client = await open(everything, "stdio");
  const task = await startTool(client, "simulate-research-query", { topic: "python", ambiguous: true });
  const seen = new Set<string>();
  for await (const { status } of task.events) seen.add(status);
  expect([...seen]).toEqual(expect.arrayContaining(["working", "input_required", "completed"]));
  expect(textOf(await task.result)).toContain("python (snake)");
}, 30_000);
