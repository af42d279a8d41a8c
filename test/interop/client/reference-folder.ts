import { mkdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";

/** Where the reference servers work. */
export const folder: string = join(tmpdir(), `portolan-servers-${process.pid}`);
export const shared: string = join(folder, "shared");
export const other: string = join(folder, "other");

/** Lets the tests of a file have it. */
export function useFolder(): void {
  beforeAll(() => {
    for (const each of [shared, other]) mkdirSync(each, { recursive: true });
  });
  afterAll(() => rmSync(folder, { recursive: true }));
}
