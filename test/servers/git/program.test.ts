// The program as a host starts it, over stdio and HTTP.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { connect } from "portolan/client";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { call, refusal } from "./client.ts";
import { makeConflict, makeFolder } from "./repository.ts";

const folder = join(import.meta.dirname, "../../../packages/servers/git");
const program = join(folder, "dist/main.js");

async function start(args: readonly string[], env: { [name: string]: string } = {}) {
  const client = await connect({ command: process.execPath, args: [program, ...args], env });
  onTestFinished(() => client.close());
  return client;
}

/** Runs the program until it exits. */
async function end(...args: string[]) {
  const child = spawn(process.execPath, [program, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  const said = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk) => {
    said.stdout += chunk;
  });
  child.stderr.on("data", (chunk) => {
    said.stderr += chunk;
  });
  const [code] = await once(child, "close");
  return { code, ...said };
}

describe("the program", () => {
  test("refuses to start without a repository, in one line", async () => {
    const { code, stdout, stderr } = await end();
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toBe(
      "portolan-git: expected the folder of at least one repository, got none; see portolan-git --help\n",
    );
  });

  test("refuses to start with a folder that is not a repository", async () => {
    const { code, stdout, stderr } = await end(makeFolder());
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain("is not a git repository");
    expect(stderr.trim().split("\n")).toHaveLength(1);
  });

  test("works over stdio, and only reads with --read-only", async () => {
    const work = makeConflict();
    const client = await start([work.root]);
    expect(await call(client, "merge", { ref: "other" })).toMatchObject({ outcome: "conflicts" });
    const reader = await start(["--read-only", work.root]);
    expect((await reader.listTools()).map(({ name }) => name)).not.toContain("commit");
    expect((await call(reader, "conflicts")).conflicts).toHaveLength(1);
  });

  test("works over HTTP", async () => {
    const work = makeConflict();
    const child = spawn(process.execPath, [program, "--http", "0", work.root], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    onTestFinished(() => {
      child.kill();
    });
    const [line] = await once(createInterface(child.stdout), "line");
    const client = await connect(String(line).replace("Serving ", ""));
    onTestFinished(() => client.close());
    expect(await call(client, "status")).toMatchObject({ branch: "main", isClean: true });
  });

  test("starts as its README says", async () => {
    const work = makeConflict();
    const fence = /```json\n([\s\S]*?)```/.exec(readFileSync(join(folder, "README.md"), "utf8"))?.[1] ?? "";
    const { command, args } = JSON.parse(fence).mcpServers.git;
    expect([command, ...args]).toEqual(["npx", "-y", "portolan-git", "/path/to/repository"]);
    const bin = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")).bin["portolan-git"];
    expect(join(folder, bin)).toBe(program);
    const client = await start(args.slice(2).map(() => work.root));
    expect(await call(client, "status")).toMatchObject({ branch: "main" });
  });
});

/** A git whose blame command never ends and has a child that ignores SIGTERM; other commands run the real git. */
function makeSlowGit() {
  const folder = makeFolder();
  const pid = join(folder, "pid");
  const real = (process.env["PATH"] ?? "")
    .split(delimiter)
    .map((entry) => join(entry, "git"))
    .find(existsSync);
  const script = `#!/bin/sh\nif [ "$3" = blame ]; then trap "" TERM; sleep 1000 & echo $$ > '${pid}.new'; mv '${pid}.new' '${pid}'; wait; fi\nexec '${real}' "$@"\n`;
  writeFileSync(join(folder, "git"), script);
  chmodSync(join(folder, "git"), 0o755);
  const path = [folder, process.env["PATH"]].join(delimiter);
  const group = () => Number(readFileSync(pid, "utf8"));
  onTestFinished(() => {
    if (existsSync(pid) && isRunning(group())) process.kill(-group(), "SIGKILL");
  });
  return { path, isAsked: () => existsSync(pid), group };
}

function isRunning(group: number): boolean {
  try {
    process.kill(-group, 0);
    return true;
  } catch {
    return false;
  }
}

describe("a git that takes too long", () => {
  test("is killed with its children when the call is cancelled", async () => {
    const work = makeConflict();
    const { path, isAsked, group } = makeSlowGit();
    const client = await start([work.root], { PATH: path });
    const controller = new AbortController();
    const blame = client.callTool("blame", { path: "a.txt" }, { signal: controller.signal });
    const ended = expect(blame).rejects.toThrow();
    await vi.waitUntil(isAsked, { timeout: 20_000 });
    expect(isRunning(group())).toBe(true);
    controller.abort();
    await ended;
    await vi.waitUntil(() => !isRunning(group()), { timeout: 20_000 });
    expect(await call(client, "status")).toMatchObject({ isClean: true });
  });

  test("is killed after the timeout, and the model is told", async () => {
    const work = makeConflict();
    const { path, group } = makeSlowGit();
    const client = await start(["--timeout", "1", work.root], { PATH: path });
    expect(await refusal(client, "blame", { path: "a.txt" })).toContain("took longer than 1000 ms");
    await vi.waitUntil(() => !isRunning(group()), { timeout: 20_000 });
  });

  test("does not outlive the server", async () => {
    const work = makeConflict();
    const { path, isAsked, group } = makeSlowGit();
    const client = await start([work.root], { PATH: path });
    client.callTool("blame", { path: "a.txt" }).catch(() => {});
    await vi.waitUntil(isAsked, { timeout: 20_000 });
    await client.close();
    await vi.waitUntil(() => !isRunning(group()), { timeout: 20_000 });
    expect(isRunning(group())).toBe(false);
  });
});
