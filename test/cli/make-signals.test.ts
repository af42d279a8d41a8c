// Signals to the commands that serve until they are stopped.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "portolan/client";
import { describe, expect, onTestFinished, test } from "vitest";
import { makeProject, startPortolan, until } from "./make-kit.ts";

const files = {
  "server.mjs": `import { createServer } from "portolan/server";
import { existsSync } from "node:fs";
export default createServer({ name: "slow", version: "1" })
  .tool("wait", {
    run() {
      console.error("waiting");
      return new Promise((resolve) => setInterval(() => existsSync("finish") && resolve("waited"), 20));
    },
  })
  .tool("ping", { run: () => "pong" })
  .tool("forget", { run() { Promise.reject(new Error("forgotten by its author")); return "forgot"; } });
`,
};

const commands = [
  ["serve", ["serve", "server.mjs", "--http", "0"]],
  ["dev", ["dev", "server.mjs", "--http", "0"]],
] as const;

/** Starts a command and connects to it; it is killed at the end of the test. */
async function start(args: readonly string[]) {
  const folder = makeProject(files);
  const running = startPortolan(args, folder);
  onTestFinished(() => void running.child.kill("SIGKILL"));
  const { url } = await running.event("ready");
  const client = await connect(String(url));
  onTestFinished(() => client.close());
  /** Resolves when new requests are refused. */
  const isClosing = () =>
    until(() =>
      fetch(String(url)).then(
        ({ status }) => status === 503,
        () => true,
      ),
    );
  return { running, client, isClosing, finish: () => writeFileSync(join(folder, "finish"), "") };
}

describe.each(commands)("portolan %s", (_, args) => {
  test.each(["SIGTERM", "SIGINT"] as const)("answers a running call before it exits on %s", async (signal) => {
    const { running, client, isClosing, finish } = await start(args);
    const waiting = client.callTool("wait");
    await until(() => running.errors().includes("waiting"));
    const exited = running.end(signal);
    await isClosing();
    finish();
    expect((await waiting).content).toEqual([{ type: "text", text: "waited" }]);
    expect(await exited).toBe(0);
  });

  test("exits at once on a second SIGTERM", async () => {
    const { running, client, isClosing } = await start(args);
    client.callTool("wait").catch(() => {});
    await until(() => running.errors().includes("waiting"));
    running.child.kill("SIGTERM");
    await isClosing();
    expect(await running.end("SIGTERM")).toBe(143);
  });

  test("goes on serving after an unhandled rejection", async () => {
    const { running, client } = await start(args);
    await client.callTool("forget");
    await until(() => running.errors().includes("forgotten by its author"));
    expect(running.errors()).toContain("a promise was rejected and not handled; calls in progress:");
    expect((await client.callTool("ping")).content).toEqual([{ type: "text", text: "pong" }]);
  });
});
