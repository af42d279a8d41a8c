import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Finding, folder, groupOf, type Way } from "../../scripts/interop/matrix.mjs";
import { toTable } from "../../scripts/interop/table.mjs";

/** One column of a feature table. */
export interface Reported extends Omit<Way, "side"> {
  readonly title: string;
}

/** Collects the results of one table. */
export interface Report<C> {
  /** Records the result of a test. */
  note(column: C, task: { readonly name: string; readonly result?: { readonly state: string } | undefined }): void;
  /** Writes the results of a column to a file, for the table of all peers. */
  save(column: C): void;
  print(): void;
}

export interface ReportOptions<C> {
  readonly heading: string;
  /** The role of the peers: client or server. */
  readonly side: Way["side"];
  readonly columns: readonly C[];
  readonly features: readonly string[];
  /** Tells whether the version and the transport of a column have a feature. */
  isThere(feature: string, column: C): boolean;
  /** Returns why the peer of a column lacks the feature, if it does. */
  reasonFor(feature: string, column: C): string | undefined;
}

const absent = " (not in this version)";

/** Returns the name of a test for versions that lack a feature. */
export function withoutIt(feature: string): string {
  return `${feature}${absent}`;
}

export function createReport<C extends Reported>(options: ReportOptions<C>): Report<C> {
  const { heading, side, columns, features, isThere, reasonFor } = options;
  // Throws for a feature without a group, which would be missing in the table of all peers.
  for (const feature of features) groupOf(feature);
  const marks = new Map<C, Map<string, Finding["mark"]>>(columns.map((column) => [column, new Map()]));

  function findingOf(feature: string, column: C): Finding {
    const mark = marks.get(column)?.get(feature);
    if (mark !== undefined) return { mark };
    if (!isThere(feature, column)) return { mark: "absent" };
    const reason = reasonFor(feature, column);
    return reason === undefined ? { mark: "not run" } : { mark: "lacking", reason };
  }

  return {
    note(column, { name, result }) {
      const [feature = "", isAbsent] = name.split(absent);
      const mark = isAbsent === undefined ? "ok" : "absent";
      marks.get(column)?.set(feature, result?.state === "fail" ? "failed" : mark);
    },
    save(column) {
      const { title, peer, wire, version, habit } = column;
      const names = new Set([...features, ...(marks.get(column)?.keys() ?? [])]);
      const found = Object.fromEntries([...names].map((name) => [name, findingOf(name, column)]));
      const way: Way = { peer, side, wire, version, ...(habit !== undefined && { habit }) };
      mkdirSync(folder, { recursive: true });
      const file = `${side}, ${title}, ${wire}.json`.replaceAll(/[^\w.,-]+/g, "-");
      writeFileSync(join(folder, file), JSON.stringify({ ...way, features: found }, undefined, 1));
    },
    print() {
      const found = columns.flatMap((column) => features.map((feature) => findingOf(feature, column)));
      const reasons = [...new Set(found.flatMap(({ reason }) => reason ?? []))];
      const cellOf = (feature: string, column: C) => {
        const { mark, reason } = findingOf(feature, column);
        if (reason !== undefined) return `(${reasons.indexOf(reason) + 1})`;
        return { ok: "ok", absent: "-", lacking: "-", failed: "FAIL", "not run": "?" }[mark];
      };
      const rows = features.map((feature) => [feature, ...columns.map((column) => cellOf(feature, column))]);
      const legend = [
        "-: not in this version or not over this transport",
        ...reasons.map((reason, index) => `(${index + 1}): ${reason}`),
      ];
      const titles = columns.map(({ title }) => title);
      console.log([toTable([heading, ...titles], rows), ...legend].join("\n"));
    },
  };
}
