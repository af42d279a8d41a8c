import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { connect } from "portolan/client";
import { http } from "portolan/client/http";
import { describe, expect, onTestFinished, test } from "vitest";
import { ask, makeFolder, processWith, program, refused, textOf } from "./kit.ts";

const run = (...args: string[]) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], { encoding: "utf8", input: "" });
  return { status, stdout, stderr };
};

test("prints help, and explains a wrong command line", () => {
  expect(run("--help")).toMatchObject({ status: 0, stdout: expect.stringContaining("--read-only") });
  expect(run("--version")).toMatchObject({ status: 0, stdout: "portolan-files 0.1.0\n" });
  expect(run()).toMatchObject({ status: 2, stderr: expect.stringContaining("expected at least one folder to serve") });
  expect(run("/not-there")).toMatchObject({
    status: 1,
    stderr: expect.stringContaining("/not-there: expected a folder"),
  });
  expect(run("--client-roots", "x", "/tmp")).toMatchObject({
    status: 2,
    stderr: expect.stringContaining("narrow, provide, ignore"),
  });
  expect(run("--max-bytes", "x", "/tmp")).toMatchObject({ status: 2, stderr: expect.stringContaining("whole number") });
});

describe("over standard input and output", () => {
  test("obeys its flags", async () => {
    const folder = await makeFolder();
    await mkdir(join(folder, "skipped"));
    await writeFile(join(folder, ".env"), "secret\n");
    await writeFile(join(folder, "skipped", "a.txt"), "secret\n");
    const flags = ["--read-only", "--hidden", "--ignore", "skipped", "--max-bytes", "3", "--max-results", "7"];
    const client = await connect({ command: process.execPath, args: [program, ...flags, folder] });
    onTestFinished(() => client.close());
    expect((await client.listTools()).map(({ name }) => name)).not.toContain("write");
    expect(await ask(client, "read", { path: ".env" })).toMatchObject({ text: "sec", nextOffset: 3 });
    expect(await ask(client, "search", { pattern: "secret" })).toMatchObject({ matches: [{ path: ".env" }] });
    expect(await refused(client, "list", { limit: 8 })).toContain("limit");
  });

  test("a server that is killed during a write leaves the old file unchanged", async () => {
    const folder = await makeFolder();
    await writeFile(join(folder, "source.bin"), "");
    await truncate(join(folder, "source.bin"), 400_000_000);
    await writeFile(join(folder, "target.bin"), "old");
    const client = await connect({ command: process.execPath, args: [program, folder] });
    const pid = Number(await processWith(folder));
    const copying = client.callTool("copy", { from: "source.bin", to: "target.bin", overwrite: true });
    const ended = expect(copying).rejects.toThrow();
    // The draft exists: the write has started.
    await expect.poll(async () => (await readdir(folder)).length, { interval: 1 }).toBe(3);
    process.kill(pid, "SIGKILL");
    await ended;
    expect(await readFile(join(folder, "target.bin"), "utf8")).toBe("old");
    // The leftover draft is not served.
    const next = await connect({ command: process.execPath, args: [program, "--hidden", folder] });
    onTestFinished(() => next.close());
    expect(await ask(next, "list")).toMatchObject({ entries: [{ name: "source.bin" }, { name: "target.bin" }] });
  });

  test("the host configuration in the README works", async () => {
    const entry = await readFile(join(import.meta.dirname, "../../..", "examples/servers/files.json"), "utf8");
    const { mcpServers } = JSON.parse(entry);
    const { command, args } = mcpServers.files as { command: string; args: string[] };
    expect([command, ...args.slice(0, 2)]).toEqual(["npx", "-y", "portolan-files"]);
    const folder = await makeFolder();
    // Runs the program that npx would run, on the folder of this test.
    const given = args.slice(2).map((arg) => (arg.startsWith("/") ? folder : arg));
    const client = await connect({ command: process.execPath, args: [program, ...given] });
    onTestFinished(() => client.close());
    expect(await ask(client, "info")).toMatchObject({ folders: [folder] });
  });
});

describe("over HTTP", () => {
  async function listen(folder: string, env: Record<string, string> = {}, ...flags: string[]): Promise<string> {
    const child = spawn(process.execPath, [program, "--http", "0", ...flags, folder], {
      env: { ...process.env, ...env },
    });
    onTestFinished(() => {
      child.kill();
    });
    child.stdout.setEncoding("utf8");
    const [line] = await once(child.stdout, "data");
    return /Serving (\S+)/.exec(line)?.[1] ?? "";
  }

  test.each(["stateless", "stateful"] as const)("%s clients read and write", async (era) => {
    const folder = await makeFolder();
    const client = await connect(await listen(folder), { era });
    onTestFinished(() => client.close());
    await ask(client, "write", { path: "a.txt", text: "over HTTP" });
    expect(textOf(await client.callTool("read", { path: "a.txt" }))).toBe("over HTTP");
  });

  test("HTTP clients cannot provide folders, and need the token if one is set", async () => {
    const folder = await makeFolder();
    const url = await listen(folder, { PORTOLAN_TOKEN: "open sesame" }, "--client-roots", "provide");
    await expect(connect(url)).rejects.toThrow();
    const headers = { authorization: "Bearer open sesame" };
    const client = await connect(http(url, { headers }), { answers: { roots: [{ uri: "file:///" }] } });
    onTestFinished(() => client.close());
    expect(await refused(client, "read", { path: "/etc/passwd" })).toContain("outside");
  });
});
