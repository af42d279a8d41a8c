import { randomUUID } from "node:crypto";
import { chmod, mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";

/** Makes a folder that only this user can read. */
export async function makePrivateFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if (process.platform !== "win32") await chmod(folder, 0o700);
}

/** Replaces a file as a whole: a reader sees the old one or the new one. */
export async function writePrivateFile(file: string, text: string): Promise<void> {
  const beside = join(dirname(file), `.${randomUUID()}.tmp`);
  const handle = await open(beside, "wx", 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  try {
    await rename(beside, file);
  } catch (reason) {
    await rm(beside, { force: true });
    throw reason;
  }
}

/** Returns the JSON in a file; undefined if there is none, or if it is torn. */
export async function readJsonFile(file: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(file, "utf8")) as unknown;
  } catch {
    return undefined;
  }
}
