import { afterAll, afterEach, beforeAll, describe, test } from "vitest";
import type { PeerClient } from "../peers/clients/peer.d.mts";
import { type Column, type Feature, has } from "./feature.ts";
import { promptFeatures } from "./features/prompts.ts";
import { questionFeatures } from "./features/questions.ts";
import { resourceFeatures } from "./features/resources.ts";
import { resumptionFeatures } from "./features/resumption.ts";
import { signalFeatures } from "./features/signals.ts";
import { toolFeatures } from "./features/tools.ts";
import { toTable } from "./table.ts";

const all: Feature[] = [
  ...toolFeatures,
  ...resourceFeatures,
  ...promptFeatures,
  ...questionFeatures,
  ...signalFeatures,
  ...resumptionFeatures,
];

const absent = " (not in this version)";

/** Registers every feature for every client as a test, and prints what came out as a table. */
export function runColumns(heading: string, columns: readonly Column[]): void {
  const transports = new Set(columns.map(({ transport }) => transport));
  const features = all.filter(({ over }) => over === undefined || transports.has(over));
  const marks = new Map<string, string>();

  describe.each(columns)("$title", (column) => {
    let peer: PeerClient;

    beforeAll(async () => {
      peer = await column.open();
    });
    afterAll(() => peer?.close());
    afterEach(({ task }) => {
      const [name, isAbsent] = task.name.split(absent);
      const mark = isAbsent === undefined ? "ok" : "-";
      marks.set(`${name}|${column.title}`, task.result?.state === "fail" ? "FAIL" : mark);
    });

    for (const feature of features) {
      if (has(feature, column)) test(feature.name, () => feature.check(peer, column));
      else if (feature.without) test(`${feature.name}${absent}`, () => feature.without?.(peer, column));
    }
  });

  afterAll(() => {
    const titles = columns.map(({ title }) => title);
    const reasons = [...new Set(columns.flatMap(({ lacks = {} }) => Object.values(lacks)))];
    const markOf = ({ name }: Feature, { title, lacks = {} }: Column) => {
      const reason = lacks[name];
      return marks.get(`${name}|${title}`) ?? (reason ? `(${reasons.indexOf(reason) + 1})` : "-");
    };
    const rows = features.map((feature) => [feature.name, ...columns.map((column) => markOf(feature, column))]);
    const legend = ["-: not in this version", ...reasons.map((reason, index) => `(${index + 1}): ${reason}`)];
    console.log([toTable([heading, ...titles], rows), ...legend].join("\n"));
  });
}
