// A command that waits for a file of another process says so.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { environment, makeHome, portolan, root } from "./kit.ts";

/** A process that holds a lock file until its input ends. */
async function holdInOtherProcess(lock: string): Promise<{ readonly pid: number; release(): void }> {
  const code = `
    import { holdFileLock } from "portolan/storage/node";
    const release = await holdFileLock(${JSON.stringify(lock)});
    process.stdin.on("end", release).resume();
    console.log("held");
  `;
  const child = spawn(process.execPath, ["--input-type=module", "-e", code], { cwd: root });
  onTestFinished(() => void child.kill());
  await once(child.stdout, "data");
  return { pid: child.pid ?? 0, release: () => child.stdin.end() };
}

/** Starts the command; `line` resolves with its first line on standard error. */
function start(args: readonly string[], cwd: string) {
  const child = spawn(process.execPath, [portolan, ...args], { cwd, env: environment(cwd) });
  onTestFinished(() => void child.kill());
  child.stdin.end();
  let stderr = "";
  const notice = new Promise<void>((resolve) => {
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
      if (stderr.includes("\n")) resolve();
    });
  });
  const ended = once(child, "close").then(([code]) => ({ code, stderr }));
  child.stdout.resume();
  return { notice, ended };
}

test("add waits for a file that another process is using, and names both in one line", async () => {
  const cwd = makeHome();
  const file = join(cwd, ".mcp.json");
  writeFileSync(file, '{ "mcpServers": {} }');
  const holder = await holdInOtherProcess(`${file}.lock`);
  const { notice, ended } = start(["add", "notes", "http://127.0.0.1:1/mcp"], cwd);
  await Promise.race([notice, ended]);
  holder.release();
  const { code, stderr } = await ended;
  expect(stderr).toMatch(
    new RegExp(`^\\S+ Waiting for the lock file ${file}\\.lock, which process ${holder.pid} of host .* holds\n`),
  );
  expect(stderr.match(/Waiting for/g)).toHaveLength(1);
  expect(code).toBe(0);
});

test("a command that waits for the log of another process says so once", async () => {
  const cwd = makeHome();
  const folder = join(cwd, ".portolan");
  mkdirSync(folder, { mode: 0o700 });
  const holder = await holdInOtherProcess(join(folder, "activity.ndjson.lock"));
  const { notice, ended } = start(["log"], cwd);
  await Promise.race([notice, ended]);
  holder.release();
  const { code, stderr } = await ended;
  expect(stderr).toContain(`activity.ndjson.lock, which process ${holder.pid} of host`);
  expect(stderr.match(/Waiting for/g)).toHaveLength(1);
  expect(code).toBe(0);
});
