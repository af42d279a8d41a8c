import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { toTable } from "../table.ts";
import { absenceOf, checkOf, type ServerColumn, type ServerFeature } from "./feature.ts";
import { connectionFeatures } from "./features/connection.ts";
import { httpFeatures } from "./features/http.ts";
import { promptFeatures } from "./features/prompts.ts";
import { questionFeatures } from "./features/questions.ts";
import { resourceFeatures } from "./features/resources.ts";
import { signalFeatures } from "./features/signals.ts";
import { toolFeatures } from "./features/tools.ts";
import type { Peer } from "./peer.ts";

const all: ServerFeature[] = [
  ...connectionFeatures,
  ...toolFeatures,
  ...promptFeatures,
  ...questionFeatures,
  ...signalFeatures,
  ...resourceFeatures,
  ...httpFeatures,
];

const absent = " (not in this version)";

/** Registers every feature for every server as a test, and prints what came out as a table, with the reasons for gaps. */
export function runColumns(heading: string, columns: readonly ServerColumn[]): void {
  const transports = new Set(columns.map(({ transport }) => transport));
  const features = all.filter(({ over }) => over === undefined || transports.has(over));
  const marks = new Map<string, string>();

  describe.each(columns)("$title", (column) => {
    let peer: Peer;

    beforeAll(async () => {
      peer = await column.open();
    });
    afterAll(async () => {
      await peer?.client.close();
      await column.stop?.();
    });
    afterEach(({ task }) => {
      const [name, isAbsent] = task.name.split(absent);
      const mark = isAbsent === undefined ? "ok" : "-";
      marks.set(`${name}|${column.title}`, task.result?.state === "fail" ? "FAIL" : mark);
    });

    for (const feature of features) {
      const check = checkOf(feature, column);
      const absence = absenceOf(feature, column);
      if (check) test(feature.name, () => check(peer, column));
      else if (absence) test(`${feature.name}${absent}`, () => absence(peer, column));
    }

    test("nothing odd was received", () => {
      expect(peer.errors).toEqual([]);
    });
  });

  test("what a server lacks or does in its own way is a feature of the table", () => {
    const names = new Set(all.map(({ name }) => name));
    for (const { lacks, own = {} } of columns) {
      expect([...Object.keys(lacks), ...Object.keys(own)].filter((name) => !names.has(name))).toEqual([]);
    }
  });

  afterAll(() => {
    const titles = columns.map(({ title }) => title);
    const reasons = [...new Set(columns.flatMap((column) => features.flatMap((one) => reasonFor(one, column) ?? [])))];
    const markOf = (feature: ServerFeature, column: ServerColumn) => {
      const reason = reasonFor(feature, column);
      return marks.get(`${feature.name}|${column.title}`) ?? (reason ? `(${reasons.indexOf(reason) + 1})` : "-");
    };
    const rows = features.map((feature) => [feature.name, ...columns.map((column) => markOf(feature, column))]);
    const legend = ["-: not in this version", ...reasons.map((reason, index) => `(${index + 1}): ${reason}`)];
    console.log([toTable([heading, ...titles], rows), ...legend].join("\n"));
  });
}

/** Why a server does not show a feature that its version has; undefined where it does. */
function reasonFor({ name }: ServerFeature, { own, lacks }: ServerColumn): string | undefined {
  const isShown = !own || name in own;
  return lacks[name] ?? (isShown ? undefined : "it is no fixture, and has nothing that shows this");
}
