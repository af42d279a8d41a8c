import { expect, test } from "vitest";
import type { Row } from "./rows/row.ts";

type Manifest = { readonly [row: string]: Row };
type Testable = Extract<Row, { on: unknown }>;

/** Where a manifest wants its rows to be tested, and where its requirements test them. */
export interface Coverage<Requirement> {
  /** As many or fewer mean that some were not found. */
  readonly moreThan: { readonly rows: number; readonly requirements: number };
  /** The places where a row must be covered. */
  wanted(row: Testable): readonly string[];
  /** The places where a requirement covers its row. */
  covered(requirement: Requirement): readonly string[];
}

/** Each revision over each transport. */
export function placesOf(scope: { readonly on: readonly string[]; readonly over: readonly string[] }): string[] {
  return scope.on.flatMap((revision) => scope.over.map((transport) => `${revision} over ${transport}`));
}

/** Registers the tests that every row of a manifest is covered and every requirement names a row. */
export function runGate<Requirement extends { row: string }>(
  manifest: Manifest,
  sections: { readonly [section: string]: readonly Requirement[] },
  { moreThan, wanted, covered }: Coverage<Requirement>,
): void {
  const requirements = Object.values(sections).flat();

  test("the requirements were found", () => {
    expect(Object.keys(manifest).length).toBeGreaterThan(moreThan.rows);
    expect(requirements.length).toBeGreaterThan(moreThan.requirements);
  });

  test.each(Object.entries(manifest))("row %s is covered wherever it holds", (row, entry) => {
    if (!("on" in entry)) {
      expect("untestable" in entry ? entry.untestable : entry.later).not.toBe("");
      return;
    }
    const places = new Set(requirements.filter((requirement) => requirement.row === row).flatMap(covered));
    expect(
      wanted(entry).filter((place) => !places.has(place)),
      `${row}: ${entry.about}`,
    ).toEqual([]);
  });

  test("every requirement names a row of the manifest", () => {
    expect(requirements.map(({ row }) => row).filter((row) => !(row in manifest))).toEqual([]);
  });
}
