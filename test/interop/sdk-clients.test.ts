import { afterAll, afterEach, beforeAll, describe, test } from "vitest";
import type { PeerClient } from "../peers/clients/peer.d.mts";
import { connect as connectV1 } from "../peers/clients/sdk-v1.mjs";
import { connect as connectV2 } from "../peers/clients/sdk-v2.mjs";
import { type Column, createColumn, type Feature, has } from "./feature.ts";
import { promptFeatures } from "./features/prompts.ts";
import { questionFeatures } from "./features/questions.ts";
import { resourceFeatures } from "./features/resources.ts";
import { signalFeatures } from "./features/signals.ts";
import { toolFeatures } from "./features/tools.ts";
import { toTable } from "./table.ts";

const features: Feature[] = [
  ...toolFeatures,
  ...resourceFeatures,
  ...promptFeatures,
  ...questionFeatures,
  ...signalFeatures,
];

const stateful = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const stateless = "2026-07-28";

const columns = [
  ...stateful.map((version) => createColumn(`SDK v1 ${version}`, connectV1, { version })),
  ...stateful.map((version) => createColumn(`SDK v2 ${version}`, connectV2, { version, mode: "legacy" })),
  createColumn(`SDK v2 ${stateless}`, connectV2, { version: stateless, mode: "pin" }),
  createColumn("SDK v2 auto", connectV2, { version: stateless, mode: "auto" }),
];

const absent = " (not in this version)";
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
  const markOf = (feature: Feature, column: Column) =>
    marks.get(`${feature.name}|${column.title}`) ?? (has(feature, column) ? "" : "-");
  const rows = features.map((feature) => [feature.name, ...columns.map((column) => markOf(feature, column))]);
  console.log(`${toTable(["Official clients over stdio", ...titles], rows)}\n("-": not in this version)`);
});
