import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { type Passed, problemsOf, type Sender } from "./conversation.ts";
import { type RevisionDate, revisions } from "./revisions.ts";
import { tapHttp } from "./tap-http.mjs";

/** Records the messages of server processes that use one revision. */
export interface Tap {
  /** Returns the URL of a module for `node --import` that records the messages of one more server process. */
  module(transport: "stdio" | "http"): string;
  passed(): Passed[];
  /** Fails unless one side sent at least this many messages, all valid. Deletes the records. */
  expectValid(ours: Sender, atLeast: number): void;
}

/** Creates a tap for servers that use a revision. */
export function createTap(version: string): Tap {
  const revision = revisions.find((date) => date === version);
  if (!revision) throw new Error(`there is no revision ${version}`);
  let folder: string | undefined;
  let servers = 0;
  const passed = () => (folder !== undefined && existsSync(folder) ? readFolder(folder, revision) : []);
  return {
    module(transport) {
      folder ??= mkdtempSync(join(tmpdir(), "portolan-tap-"));
      servers += 1;
      const address = new URL("./tap.mjs", import.meta.url);
      address.searchParams.set(transport, join(folder, `${servers}.jsonl`));
      return address.href;
    },
    passed,
    expectValid(ours, atLeast) {
      const all = passed();
      if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
      folder = undefined;
      expect(all.filter(({ from }) => from === ours).length).toBeGreaterThanOrEqual(atLeast);
      const problems = problemsOf(all, ours);
      expect(problems, problems.join("\n")).toEqual([]);
    },
  };
}

/** Returns the messages of this process's HTTP servers during an action. */
export async function passedDuring(revision: RevisionDate, act: () => Promise<void>): Promise<Passed[]> {
  const passed: Passed[] = [];
  const stop = tapHttp((connection, from, text) => {
    if (text.trim() !== "") passed.push({ connection, revision, from, message: toMessage(text) });
  });
  try {
    await act();
  } finally {
    stop();
  }
  return passed;
}

function readFolder(folder: string, revision: RevisionDate): Passed[] {
  return readdirSync(folder).flatMap((name) => {
    const lines = readFileSync(join(folder, name), "utf8").trimEnd().split("\n");
    return lines.map((line): Passed => {
      const { connection, from, text } = JSON.parse(line);
      return { connection: `${name} ${connection}`, revision, from, message: toMessage(text) };
    });
  });
}

function toMessage(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
