import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { connect } from "portolan/client";
import { expect, onTestFinished, test } from "vitest";
import { ask, makeFolder, program, textOf } from "./kit.ts";

/** Starts the program as a user whom the system can refuse something: the superuser may read everything. */
async function startUnprivileged(folder: string) {
  const isRoot = process.getuid?.() === 0;
  const command = [
    ...(isRoot ? ["setpriv", "--reuid=65534", "--clear-groups"] : []),
    process.execPath,
    program,
    folder,
  ];
  const client = await connect({ command: command[0]!, args: command.slice(1) });
  onTestFinished(() => client.close());
  return client;
}

test("a resource that exists but may not be read is not called missing", async () => {
  const folder = await makeFolder();
  await chmod(folder, 0o755);
  await writeFile(join(folder, "open.txt"), "hello");
  await writeFile(join(folder, "secret.txt"), "hidden");
  await chmod(join(folder, "secret.txt"), 0);
  const client = await startUnprivileged(folder);
  const uriOf = (name: string) => pathToFileURL(join(folder, name)).href;
  expect(await client.readResource(uriOf("open.txt"))).toMatchObject({ contents: [{ text: "hello" }] });
  await expect(client.readResource(uriOf("secret.txt"))).rejects.toThrow("the system does not permit it (EACCES)");
  await expect(client.readResource(uriOf("none.txt"))).rejects.toThrow("not found");
  expect(await ask(client, "search", { pattern: "hidden" })).toMatchObject({ matches: [], files: 1, skipped: 1 });
});

test("search, find and tree say that files and folders could not be opened", async () => {
  const folder = await makeFolder();
  await chmod(folder, 0o755);
  await writeFile(join(folder, "open.txt"), "hello");
  await writeFile(join(folder, "secret.txt"), "hidden");
  await chmod(join(folder, "secret.txt"), 0);
  await mkdir(join(folder, "closed"), { mode: 0 });
  const client = await startUnprivileged(folder);
  const says = async (tool: string, args: Record<string, unknown>) => {
    const result = await client.callTool(tool, args);
    return [textOf(result).split("\n").at(-1), (result.structuredContent as { unreadable?: number }).unreadable];
  };
  const line = (count: number) => `… ${count} files or folders could not be opened; the result lacks them`;
  expect(await says("search", { pattern: "hidden" })).toEqual([line(2), 2]);
  expect(await says("find", { pattern: "*.md" })).toEqual([line(1), 1]);
  expect(await says("tree", {})).toEqual([line(1), 1]);
});
