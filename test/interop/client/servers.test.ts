import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { toTable } from "../table.ts";
import { columns } from "./columns.ts";
import { absenceOf, checkOf, type ServerFeature } from "./feature.ts";
import { connectionFeatures } from "./features/connection.ts";
import { promptFeatures } from "./features/prompts.ts";
import { questionFeatures } from "./features/questions.ts";
import { resourceFeatures } from "./features/resources.ts";
import { signalFeatures } from "./features/signals.ts";
import { toolFeatures } from "./features/tools.ts";
import type { Peer } from "./peer.ts";
import { removeFolder } from "./reference.ts";

const features: ServerFeature[] = [
  ...connectionFeatures,
  ...toolFeatures,
  ...promptFeatures,
  ...questionFeatures,
  ...signalFeatures,
  ...resourceFeatures,
];

const absent = " (not in this version)";
const marks = new Map<string, string>();

describe.each(columns)("$title", (column) => {
  let peer: Peer;

  beforeAll(async () => {
    peer = await column.open();
  });
  afterAll(() => peer?.client.close());
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
  const names = new Set(features.map(({ name }) => name));
  for (const { lacks, own = {} } of columns) {
    expect([...Object.keys(lacks), ...Object.keys(own)].filter((name) => !names.has(name))).toEqual([]);
  }
});

afterAll(removeFolder);
afterAll(() => {
  const titles = columns.map(({ title }) => title);
  const rows = features.map(({ name }) => [name, ...titles.map((title) => marks.get(`${name}|${title}`) ?? "-")]);
  const legend = '("-": not in this version, or the server has none; columns.ts says why)';
  console.log(`${toTable(["Servers over stdio", ...titles], rows)}\n${legend}`);
});
