import { spawn } from "node:child_process";
import { once } from "node:events";
import { connectInMemory } from "portolan/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import { pathTo } from "../examples/example.ts";
import { importGuide } from "./guide.ts";

const guide = await importGuide("operating");

test("the server writes its refusals and its use as lines of JSON, answers at its ready path, and stops on a signal", async () => {
  const child = spawn(process.execPath, [pathTo("examples/guide/operating.mjs"), "0"]);
  onTestFinished(() => void child.kill("SIGKILL"));
  const exited = once(child, "exit");
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const lines = () =>
    stderr
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  await vi.waitFor(() => expect(stdout).toMatch(/^Serving http.*\n/), 20_000);
  const url = stdout.trim().replace("Serving ", "");
  expect(await (await fetch(new URL("/ready", url))).text()).toBe("ready\n");
  // The list of hosts has another port.
  expect((await fetch(url, { method: "POST", body: "{}" })).status).toBe(403);
  await vi.waitFor(() => expect(lines()).toEqual([{ level: "warn", status: 403, count: 1 }]), 20_000);
  child.kill("SIGUSR2");
  await vi.waitFor(() => expect(lines()[1]).toMatchObject({ level: "info", callers: [], calls: [] }), 20_000);
  child.kill("SIGTERM");
  expect(await exited).toEqual([0, null]);
});

test("errors are written as lines of JSON, and calls are counted by their end", async () => {
  const written = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  onTestFinished(() => written.mockRestore());
  const client = await connectInMemory(guide.counted);
  await client.callTool("roll");
  await client.close();
  const lines = written.mock.calls.map(([line]) => JSON.parse(String(line)));
  expect(lines).toEqual([{ level: "info", method: "tools/call", end: "complete", ms: expect.any(Number) }]);
});
