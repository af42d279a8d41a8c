import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { schemasMissing } from "../../kit/official-schema.ts";
import { createReport, withoutIt } from "../report.ts";
import { absenceOf, checkOf, isThere, type ServerColumn, type ServerFeature } from "./feature.ts";
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

/** Registers one test per feature and server, and prints the results as a table with the reasons for gaps. */
export function runColumns(heading: string, columns: readonly ServerColumn[]): void {
  const transports = new Set(columns.map(({ transport }) => transport));
  const features = all.filter(({ over }) => over === undefined || transports.has(over));
  const report = createReport<ServerColumn>({
    heading,
    side: "server",
    columns,
    features: features.map(({ name }) => name),
    isThere: (name, column) => features.some((feature) => feature.name === name && isThere(feature, column)),
    reasonFor,
  });

  describe.each(columns)("$title", (column) => {
    let peer: Peer;

    beforeAll(async () => {
      peer = await column.open();
    });
    afterAll(async () => {
      report.save(column);
      await peer?.client.close();
      await column.stop?.();
    });
    afterEach(({ task }) => report.note(column, task));

    for (const feature of features) {
      const check = checkOf(feature, column);
      const absence = absenceOf(feature, column);
      if (check) test(feature.name, () => check(peer, column));
      else if (absence) test(withoutIt(feature.name), () => absence(peer, column));
    }

    test("no errors in received messages", () => {
      const { knownErrors = [] } = column;
      expect(peer.errors.filter((error) => !knownErrors.some((part) => error.includes(part)))).toEqual([]);
    });

    test.skipIf(schemasMissing)("our messages are valid", async () => {
      await peer.client.close();
      column.tap.expectValid("client", 20);
    });
  });

  test("the exceptions of a server name features of the table", () => {
    const names = new Set(all.map(({ name }) => name));
    for (const { lacks, own = {}, partly = {} } of columns) {
      const known = [lacks, own, partly].flatMap(Object.keys);
      expect(known.filter((name) => !names.has(name))).toEqual([]);
    }
  });

  afterAll(() => report.print());
}

/** Returns why a server lacks a feature that its version has; undefined if it has the feature. */
function reasonFor(name: string, { own, lacks }: ServerColumn): string | undefined {
  const isShown = !own || name in own;
  return lacks[name] ?? (isShown ? undefined : "it is not a fixture and has no feature to test this with");
}
