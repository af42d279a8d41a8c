import { describe, test } from "vitest";
import type { RevisionDate } from "../../kit/revisions.ts";
import { rowsAppHost } from "./rows.ts";

/** A rule for hosts of apps as a test. It runs on every revision of its row. */
export interface Requirement {
  /** The row that it covers. */
  row: string;
  /** The tested behaviour, as a sentence. */
  says: string;
  test(revision: RevisionDate): Promise<void>;
}

/** The revisions that a requirement runs on. */
export function revisionsOf({ row }: Requirement): readonly RevisionDate[] {
  const entry = rowsAppHost[row];
  if (!entry || !("on" in entry)) throw new Error(`there is no testable row ${row}`);
  return entry.on;
}

/** Registers requirements as tests. */
export function runRequirements(section: string, requirements: readonly Requirement[]): void {
  describe(section, () => {
    for (const requirement of requirements) {
      for (const revision of revisionsOf(requirement)) {
        test(`${requirement.row}: ${requirement.says} (${revision})`, () => requirement.test(revision));
      }
    }
  });
}
