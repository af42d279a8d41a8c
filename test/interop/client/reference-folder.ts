import { mkdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";

/** The folder that the reference servers work in. */
export const folder: string = join(tmpdir(), `portolan-servers-${process.pid}`);
export const shared: string = join(folder, "shared");
export const other: string = join(folder, "other");

/** Creates the folder for the tests of a file, and removes it afterwards. */
export function useFolder(): void {
  beforeAll(() => {
    for (const each of [shared, other]) mkdirSync(each, { recursive: true });
  });
  afterAll(() => rmSync(folder, { recursive: true }));
}
