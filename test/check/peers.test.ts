import { expect, test } from "vitest";
import { type CommandTarget, grade, type RevisionDate } from "../../packages/check/src/index.ts";
import { compare } from "./expectations.ts";
import { besides, scripted, spokenIn, startHttp } from "./kit.ts";

const asExpected = { unknown: [], gone: [] };

function served(version: "v1" | "v2", habit?: string): CommandTarget {
  return { ...scripted(`../peers/servers/sdk-${version}.mjs`), ...(habit && { env: { FIXTURE_HTTP: habit } }) };
}

function options(...revisions: readonly RevisionDate[]): {
  revisions: readonly RevisionDate[];
  timeoutMs: number;
  startMs: number;
} {
  return { revisions, timeoutMs: 5_000, startMs: 30_000 };
}

test("the official SDK v1 over stdio has its known faults only", async () => {
  const report = await grade(served("v1"), options("2025-03-26"));
  expect(spokenIn(report)).toEqual(["2025-03-26 stdio"]);
  expect(compare(report, "v1 stdio")).toEqual(asExpected);
});

test("the official SDK v1 over HTTP has its known faults only", async () => {
  const url = await startHttp(served("v1", "events"));
  const report = await grade({ url }, options("2025-03-26", "2025-11-25"));
  expect(spokenIn(report)).toEqual(["2025-03-26 http", "2025-11-25 http"]);
  expect(compare(report, "v1 http")).toEqual(asExpected);
});

test("the official SDK v1 over HTTP+SSE has its known faults only", async () => {
  const report = await grade({ url: await startHttp(served("v1", "http-sse")) }, options("2024-11-05"));
  expect(spokenIn(report)).toEqual(["2024-11-05 http-sse"]);
  expect(compare(report, "v1 http-sse")).toEqual(asExpected);
});

test("the official SDK v2 over stdio has its known faults only", async () => {
  const report = await grade(served("v2"), options("2026-07-28"));
  expect(spokenIn(report)).toEqual(["2026-07-28 stdio"]);
  expect(compare(report, "v2 stdio")).toEqual(asExpected);
});

test("the official SDK v2 over HTTP without sessions has its known faults only", async () => {
  const report = await grade({ url: await startHttp(served("v2", "auto")) }, options("2026-07-28"));
  expect(spokenIn(report)).toEqual(["2026-07-28 http"]);
  expect(compare(report, "v2 http without sessions")).toEqual(asExpected);
});

test("the official SDK v2 over HTTP with sessions has its known faults only", async () => {
  const report = await grade({ url: await startHttp(served("v2", "sessions")) }, options("2025-06-18"));
  expect(spokenIn(report)).toEqual(["2025-06-18 http"]);
  expect(compare(report, "v2 http with sessions")).toEqual(asExpected);
});

test("the tools of the official everything server are found by their names", async () => {
  const target = scripted("../peers/node_modules/@modelcontextprotocol/server-everything/dist/index.js", "stdio");
  const found = [
    "ask/form",
    "ask/url",
    "ask/sample",
    "ask/roots",
    "structured/conforms",
    "progress/order",
    "cancel/silent",
  ];
  const report = await grade(target, { ...options("2025-11-25"), filter: ({ id }) => found.includes(id) });
  expect(besides(report, "pass")).toEqual([]);
  expect(report.verdicts).toHaveLength(found.length);
});
