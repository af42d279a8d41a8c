import { describe, expect, test } from "vitest";
import { problemsOf } from "../../../kit/conversation.ts";
import type { RevisionDate } from "../../../kit/revisions.ts";
import { passedDuring } from "../../../kit/tap.ts";
import { manifest } from "./rows/index.ts";

/** A rule for clients over HTTP as a test. It runs on every revision that it names. */
export interface HttpRequirement {
  /** The row of the manifest that it covers. */
  row: string;
  /** The tested behaviour, as a sentence. */
  says: string;
  /** The revisions it runs on. Default: all revisions of the row. */
  on?: readonly RevisionDate[];
  test(revision: RevisionDate): Promise<void>;
}

export function scopeOf({ row, on }: HttpRequirement): readonly RevisionDate[] {
  const entry = manifest[row];
  if (!entry || !("on" in entry)) throw new Error(`the manifest has no testable row ${row}`);
  return on ?? entry.on;
}

/** Registers a section's requirements as tests. Every message of the client is also checked against the schemas. */
export function runRequirements(section: string, requirements: readonly HttpRequirement[]): void {
  describe(section, () => {
    for (const requirement of requirements) {
      for (const revision of scopeOf(requirement)) {
        test(`${requirement.row}: ${requirement.says} (${revision})`, () => runOn(requirement, revision), 10_000);
      }
    }
  });
}

async function runOn({ test }: HttpRequirement, revision: RevisionDate): Promise<void> {
  const passed = await passedDuring(revision, () => test(revision));
  expect(problemsOf(passed, "client")).toEqual([]);
}
