import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type MemoryStore, openStore, type StoreOptions } from "portolan-memory";
import { onTestFinished } from "vitest";

/** Returns a file in its own folder, which is removed after the test. */
export function freshFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "portolan-memory-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "memory.log");
}

export interface TestStore extends MemoryStore {
  readonly problems: string[];
}

export function openTestStore(file: string, options: Partial<StoreOptions> = {}): TestStore {
  const problems: string[] = [];
  const onProblem = (problem: string) => problems.push(problem);
  const store = openStore({
    ...{ file, maxFileBytes: 1e9, compactBytes: 1e9, lockWaitMs: 20_000, onProblem },
    ...options,
  });
  onTestFinished(() => store.close());
  return Object.assign(store, { problems });
}

/** Creates an entity. */
export function add(store: MemoryStore, name: string, namespace = "default"): Promise<void> {
  return store.change(namespace, () => ({ ops: [{ do: "entity", name, type: "thing" }], result: undefined }));
}

export function namesIn(store: MemoryStore, namespace = "default"): readonly string[] {
  return store.read(namespace).names;
}
