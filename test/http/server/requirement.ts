import { describe, expect, test } from "vitest";
import { problemsOf } from "../../kit/conversation.ts";
import type { RevisionDate } from "../../kit/revisions.ts";
import { passedDuring } from "../../kit/tap.ts";
import { manifest } from "./rows/index.ts";

/** A rule for servers over HTTP as a test, run on every revision that it names. */
export interface HttpRequirement {
  /** The row of the manifest that it covers. */
  readonly row: string;
  /** The tested behaviour, as a sentence. */
  readonly says: string;
  /** The revisions it runs on. Default: all revisions of the row. */
  readonly on?: readonly RevisionDate[];
  /** `"node"` if only a server that listens itself can meet the requirement. */
  readonly adapter?: "node";
  test(revision: RevisionDate): Promise<void>;
}

/** The revisions a requirement runs on. */
export function scopeOf({ row, on }: HttpRequirement): readonly RevisionDate[] {
  const entry = manifest[row];
  if (!entry || !("on" in entry)) throw new Error(`the manifest has no testable row ${row}`);
  return on ?? entry.on;
}

/** Registers a section's requirements as tests. Every message of the server is also checked against the schemas. */
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
  expect(problemsOf(passed, "server")).toEqual([]);
}
