import { spawn } from "node:child_process";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { connectInMemory } from "portolan/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import { pathTo } from "../examples/example.ts";
import { importGuide } from "./guide.ts";

const guide = await importGuide("operating");
const facts = { time: expect.any(String), instance: expect.stringMatching(/:\d+$/) };

/** Starts a node process and collects its output. */
function start(args: string[]) {
  const child = spawn(process.execPath, args);
  onTestFinished(() => void child.kill("SIGKILL"));
  const output = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"] as const) {
    child[stream].setEncoding("utf8").on("data", (text: string) => {
      output[stream] += text;
    });
  }
  return { child, output, exited: once(child, "exit") };
}

test("the server writes its refusals and its use as lines of JSON, answers at its ready path, and stops on a signal", async () => {
  const { child, output, exited } = start([pathTo("examples/guide/operating.mjs"), "0"]);
  const lines = () =>
    output.stderr
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  await vi.waitFor(() => expect(output.stdout).toMatch(/^Serving http.*\n/), 20_000);
  const url = output.stdout.trim().replace("Serving ", "");
  expect(await (await fetch(new URL("/ready", url))).text()).toBe("ready\n");
  // The list of hosts has another port.
  expect((await fetch(url, { method: "POST", body: "{}" })).status).toBe(403);
  const reason = `Host "${new URL(url).host}" is not allowed by this server (allowedHosts)`;
  await vi.waitFor(() => expect(lines()).toEqual([{ ...facts, level: "warn", status: 403, reason, count: 1 }]), 20_000);
  child.kill("SIGUSR2");
  await vi.waitFor(() => expect(lines()[1]).toMatchObject({ level: "info", callers: [], calls: [] }), 20_000);
  child.kill("SIGTERM");
  // While it drains, a balancer that reads the ready path learns that it will close.
  await vi.waitFor(async () => expect((await fetch(new URL("/ready", url))).status).toBe(503), 20_000);
  expect(await exited).toEqual([0, null]);
});

/** Collects the lines that the guide writes during a test. */
function collectLines(): () => unknown[] {
  const written = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  onTestFinished(() => written.mockRestore());
  return () => written.mock.calls.map(([line]) => JSON.parse(String(line)));
}

test("every call is written as a line of JSON with its tool, its principal and its end", async () => {
  const lines = collectLines();
  const failing = guide.logged.tool("fail", {
    run() {
      throw new Error("no dice", { cause: new Error("no luck") });
    },
  });
  const client = await connectInMemory(failing);
  await client.callTool("roll");
  await client.callTool("fail");
  await expect(client.callTool("absent")).rejects.toThrow();
  await client.close();
  const line = { ...facts, level: "info", principal: "local", ms: expect.any(Number) };
  expect(lines()).toEqual([
    { ...line, tool: "roll", end: "complete" },
    {
      ...{ ...facts, level: "error", method: "tools/call", name: "fail", principal: "local" },
      reference: expect.any(String),
      error: expect.stringMatching(/^Error: no dice\n\s+at [\s\S]*\[cause\]: Error: no luck\n/),
    },
    { ...line, tool: "fail", end: "tool error" },
    { ...line, tool: "absent", end: "failed" },
  ]);
});

test("a rejection that nobody awaits is logged, and the process goes on", async () => {
  const program = `
    import { keepServing } from ${JSON.stringify(pathTo("examples/guide/operating.mjs"))};
    keepServing();
    Promise.reject(new Error("nobody awaits this"));
    setTimeout(() => console.log("still here"), 10);
  `;
  const { output, exited } = start(["--input-type=module", "--eval", program]);
  expect(await exited).toEqual([0, null]);
  expect(output.stdout).toBe("still here\n");
  expect(output.stderr).toMatch(/^dice: a promise was rejected and not handled; calls in progress: none\n/);
  expect(output.stderr).toContain("nobody awaits this");
});

test("the endpoint is served by a server of its own, whose limits that server has", async () => {
  const own = guide.createOwnServer();
  onTestFinished(() => own.close());
  await once(own.listen(0, "127.0.0.1"), "listening");
  const lines = collectLines();
  expect([own.maxConnections, own.headersTimeout]).toEqual([4_000, 10_000]);
  const { port } = own.address() as AddressInfo;
  expect((await fetch(`http://127.0.0.1:${port}/mcp`, { method: "POST", body: "{}" })).status).toBe(403);
  own.emit("drop");
  await vi.waitFor(() =>
    expect(lines()).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ reason: "too many connections" }),
        expect.objectContaining({ status: 403 }),
      ]),
    ),
  );
});
