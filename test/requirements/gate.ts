import { expect, test } from "vitest";
import type { Row } from "./rows/row.ts";

type Manifest = { readonly [row: string]: Row };
type Testable = Extract<Row, { on: unknown }>;

/** The scopes in which rows must be tested, and those in which requirements test them. */
export interface Coverage<Requirement> {
  /** The manifest and the sections must have more entries than this; fewer mean that some were not found. */
  readonly moreThan: { readonly rows: number; readonly requirements: number };
  /** The scopes in which a row must be covered. */
  required(row: Testable): readonly string[];
  /** The scopes in which a requirement covers its row. */
  covered(requirement: Requirement): readonly string[];
}

/** Each revision over each transport. */
export function scopesOf(scope: { readonly on: readonly string[]; readonly over: readonly string[] }): string[] {
  return scope.on.flatMap((revision) => scope.over.map((transport) => `${revision} over ${transport}`));
}

/** Registers the tests that every row of a manifest is covered and every requirement names a row. */
export function runGate<Requirement extends { row: string }>(
  manifest: Manifest,
  sections: { readonly [section: string]: readonly Requirement[] },
  { moreThan, required, covered }: Coverage<Requirement>,
): void {
  const requirements = Object.values(sections).flat();

  test("the manifest and the sections are not empty", () => {
    expect(Object.keys(manifest).length).toBeGreaterThan(moreThan.rows);
    expect(requirements.length).toBeGreaterThan(moreThan.requirements);
  });

  test.each(Object.entries(manifest))("row %s is covered in every scope it applies to", (row, entry) => {
    if (!("on" in entry)) {
      expect("untestable" in entry ? entry.untestable : entry.later).not.toBe("");
      return;
    }
    const scopes = new Set(requirements.filter((requirement) => requirement.row === row).flatMap(covered));
    expect(
      required(entry).filter((scope) => !scopes.has(scope)),
      `${row}: ${entry.about}`,
    ).toEqual([]);
  });

  test("every requirement names a row of the manifest", () => {
    expect(requirements.map(({ row }) => row).filter((row) => !(row in manifest))).toEqual([]);
  });
}
