import { mkdtemp, readdir, readFile, realpath, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CallToolResult, Client } from "portolan";
import { type ConnectInMemoryOptions, connectInMemory, type TestClient } from "portolan/testing";
import { createFiles, type FilesOptions } from "portolan-files";
import { onTestFinished } from "vitest";

export const program = join(import.meta.dirname, "../../../packages/servers/files/dist/main.js");

/** Creates a folder that is removed after the test. */
export async function makeFolder(): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "portolan-files-")));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Connects a client to a files server in this process, until the test ends. */
export async function serve(options: FilesOptions, connecting: ConnectInMemoryOptions = {}): Promise<TestClient> {
  const ending = new AbortController();
  const server = createFiles({ signal: ending.signal, ...options });
  // The principal of the local user, as over stdio.
  const client = await connectInMemory(server, { serve: { principal: { key: "local" } }, ...connecting });
  onTestFinished(async () => {
    await client.close();
    ending.abort();
  });
  return client as TestClient;
}

/** Calls a tool that must succeed. */
export async function ask<T = Record<string, unknown>>(client: Client, tool: string, args: object = {}): Promise<T> {
  const result = await client.callTool(tool, args as Record<string, unknown>);
  if (result.isError) throw new Error(`${tool}: ${textOf(result)}`);
  return result.structuredContent as T;
}

/** Calls a tool that must fail; returns the error text. */
export async function refused(client: Client, tool: string, args: object = {}): Promise<string> {
  const result = await client.callTool(tool, args as Record<string, unknown>);
  if (!result.isError) throw new Error(`${tool} ${JSON.stringify(args)} was not refused: ${textOf(result)}`);
  return textOf(result);
}

export function textOf({ content }: CallToolResult): string {
  return content.map((block) => (block.type === "text" ? block.text : "")).join("\n");
}

/** Snapshot of everything below a folder: kind, content and time of each entry. */
export async function snapshot(folder: string): Promise<Record<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const rows = await Promise.all(
    entries.map(async (entry) => {
      const path = join(entry.parentPath, entry.name);
      if (!entry.isFile()) return [path, entry.isDirectory() ? "folder" : "other"] as const;
      return [path, `${(await stat(path)).mtimeMs} ${await readFile(path, "base64")}`] as const;
    }),
  );
  return Object.fromEntries(rows.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Returns the id of the process with an argument on its command line. */
export async function processWith(argument: string): Promise<string> {
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const command = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    if (command.includes(argument)) return pid;
  }
  throw new Error(`No process has the argument ${argument}`);
}
