import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { schemasMissing } from "../kit/official-schema.ts";
import type { PeerClient } from "../peers/clients/peer.d.mts";
import { type Column, checkOf, type Feature, isThere } from "./feature.ts";
import { promptFeatures } from "./features/prompts.ts";
import { questionFeatures } from "./features/questions.ts";
import { resourceFeatures } from "./features/resources.ts";
import { resumptionFeatures } from "./features/resumption.ts";
import { signalFeatures } from "./features/signals.ts";
import { toolFeatures } from "./features/tools.ts";
import { createReport, withoutIt } from "./report.ts";

const all: Feature[] = [
  ...toolFeatures,
  ...resourceFeatures,
  ...promptFeatures,
  ...questionFeatures,
  ...signalFeatures,
  ...resumptionFeatures,
];

/** Registers one test per feature and client, and prints the results as a table. */
export function runColumns(heading: string, columns: readonly Column[]): void {
  const transports = new Set(columns.map(({ transport }) => transport));
  const features = all.filter(({ over }) => over === undefined || transports.has(over));
  const report = createReport<Column>({
    heading,
    side: "client",
    columns,
    features: features.map(({ name }) => name),
    isThere: (name, column) => features.some((feature) => feature.name === name && isThere(feature, column)),
    reasonFor: (name, { lacks = {} }) => lacks[name],
  });

  describe.each(columns)("$title", (column) => {
    let peer: PeerClient;

    beforeAll(async () => {
      peer = await column.open();
    });
    afterAll(async () => {
      report.save(column);
      await peer?.close();
    });
    afterEach(({ task }) => report.note(column, task));

    for (const feature of features) {
      const { name, without } = feature;
      const check = checkOf(feature, column);
      if (check) test(name, () => check(peer, column));
      else if (without && !isThere(feature, column)) test(withoutIt(name), () => without(peer, column));
    }

    test.skipIf(schemasMissing)("our messages are valid", async () => {
      await peer.close();
      column.tap.expectValid("server", 50);
    });
  });

  test("the exceptions of a client name features of the table", () => {
    const names = new Set(all.map(({ name }) => name));
    for (const { lacks = {}, own = {} } of columns) {
      expect([...Object.keys(lacks), ...Object.keys(own)].filter((name) => !names.has(name))).toEqual([]);
    }
  });

  afterAll(() => report.print());
}
