import { fileURLToPath } from "node:url";
import { createHost, type Host, type HostAnswers } from "portolan-host";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { textOf } from "./feature.ts";

const peers = new URL("../../peers/", import.meta.url);
const program = (path: string) => fileURLToPath(new URL(path, peers));
const everything = program("node_modules/@modelcontextprotocol/server-everything/dist/index.js");

async function open(args: string[], answers: HostAnswers = {}): Promise<Host> {
  const servers = { peer: { command: process.execPath, args, graceMs: 100 } };
  const host = await createHost({ tasks: true, servers, policy: [{ then: "allow" }], answers });
  onTestFinished(() => host.close());
  return host;
}

describe("tasks of the official SDK, version 1, in a host", () => {
  const openSdk = (answers?: HostAnswers) => open([program("servers/sdk-v1-tasks.mjs")], answers);

  test("a tool that requires a task is called like any other", async () => {
    const host = await openSdk();
    expect(textOf(await host.callTool("peer", "required"))).toBe("done");
    expect(await host.callTool("peer", "fails")).toMatchObject({ isError: true });
  });

  test("an optional tool becomes a task only by start", async () => {
    const host = await openSdk();
    const started = await host.tasks.start("peer", "optional", {}, { ttlMs: 30_000 });
    expect(started.task).toMatchObject({ server: "peer", tool: "optional" });
    expect(textOf(await host.tasks.wait(started.task?.id ?? ""))).toBe("done");
  });

  test("a question reaches the host's answers", async () => {
    const host = await openSdk({ elicit: () => ({ action: "accept", content: { name: "Ada" } }) });
    const { task } = await host.tasks.start("peer", "asks");
    expect(textOf(await host.tasks.wait(task?.id ?? ""))).toBe("Hello Ada");
  });

  test("a task whose server is killed is lost, because the server kept it in memory", async () => {
    const host = await openSdk();
    const { task } = await host.tasks.start("peer", "endless");
    const lost = expect(host.tasks.wait(task?.id ?? "")).rejects.toMatchObject({ code: "task-lost" });
    process.kill(host.servers[0]?.pid ?? 0, "SIGKILL");
    await lost;
    expect(host.servers[0]).toMatchObject({ restarts: 1 });
    expect(host.tasks.list()).toEqual([]);
  });

  test("a cancelled task is over", async () => {
    const host = await openSdk();
    const { task } = await host.tasks.start("peer", "endless");
    await host.tasks.cancel(task?.id ?? "");
    await vi.waitFor(() => expect(host.tasks.list()).toMatchObject([{ state: "cancelled" }]));
  });
});

test("the official reference server's research runs in the background, with its question", async () => {
  const host = await open([everything], {
    elicit: () => ({ action: "accept", content: { interpretation: "snake" } }),
  });
  const args = { topic: "python", ambiguous: true };
  const { task } = await host.tasks.start("peer", "simulate-research-query", args);
  expect(task?.state).toBe("working");
  const result = await host.tasks.wait(task?.id ?? "");
  expect(textOf(result)).toContain("snake");
});
