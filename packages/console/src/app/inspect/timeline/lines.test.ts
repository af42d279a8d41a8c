import { describe, expect, test } from "vitest";
import type { MessageRow } from "../../../api.ts";
import { isShown, linesOf, marksOf } from "./lines.ts";

const row = (n: number, given: Partial<MessageRow>): MessageRow => ({
  n,
  at: n * 100,
  lane: "client",
  kind: "request",
  title: "tools/call",
  bytes: 10,
  ...given,
});
const progress = (n: number, partner: number) =>
  row(n, { lane: "server", kind: "notification", title: "notifications/progress", partner });

describe("lines of a timeline", () => {
  const rows = [
    row(1, { name: "book" }),
    progress(2, 1),
    progress(3, 1),
    row(4, { lane: "server", title: "elicitation/create", partner: 1 }),
    row(5, { kind: "response", title: "answer", partner: 4, tookMs: 100 }),
    progress(6, 1),
    row(7, { lane: "server", kind: "response", title: "result", partner: 1, tookMs: 600, isError: true, bytes: 90 }),
    row(8, { title: "tools/list" }),
  ];

  test("a request has its response in its line, and below it what was asked in between", () => {
    const lines = linesOf(rows);
    expect(lines.map(({ row: { n }, depth, count, tookMs }) => [n, depth, count, tookMs])).toEqual([
      [1, 0, 1, 600],
      [2, 1, 2, undefined],
      [4, 1, 1, 100],
      [6, 1, 1, undefined],
      [8, 0, 1, undefined],
    ]);
    expect(lines[0]).toMatchObject({ bytes: 100, isError: true });
  });

  test("a row whose partner is not there stands by itself", () => {
    expect(linesOf([progress(9, 3)]).map(({ depth }) => depth)).toEqual([0]);
  });

  test("rows that name each other as partners end", () => {
    expect(linesOf([row(1, { partner: 2 }), row(2, { partner: 1 })])).toHaveLength(2);
  });

  test("filters find calls, questions and errors", () => {
    const shown = (filter: Parameters<typeof isShown>[1]) =>
      linesOf(rows)
        .filter((line) => isShown(line, filter))
        .map(({ row: { n } }) => n);
    expect(shown("calls")).toEqual([1]);
    expect(shown("questions")).toEqual([4]);
    expect(shown("errors")).toEqual([1]);
    expect(shown("all")).toHaveLength(5);
  });

  test("lanes show requests as bars that end with their response, and the rest as dots", () => {
    expect(marksOf(rows, "client", 0, 10_000)).toEqual([
      { n: 1, from: 100, to: 700, words: "book failed", tone: "bad", level: 0 },
      { n: 8, from: 800, to: Number.POSITIVE_INFINITY, words: "tools/list", tone: "plain", level: 0 },
    ]);
    expect(marksOf(rows, "server", 0, 10_000).map(({ n, tone, to }) => [n, tone, to])).toEqual([
      [2, "plain", undefined],
      [3, "plain", undefined],
      [4, "asks", 500],
      [6, "plain", undefined],
    ]);
  });
});

test("a cancelled request, one that is not known, and one that was lost are over", () => {
  const rows = [
    row(1, { title: "server/discover" }),
    row(2, { lane: "server", kind: "response", partner: 1, tookMs: 100, isUnsupported: true }),
    row(3, { name: "book" }),
    row(4, { kind: "notification", title: "notifications/cancelled", partner: 3, cancels: true }),
    row(5, { lane: "server", kind: "response", partner: 3, tookMs: 200, isError: true }),
    row(6, { name: "hang" }),
    row(7, { kind: "link", title: "lost: it exited", isError: true }),
  ];
  expect(linesOf(rows).map(({ isCancelled, isUnsupported, isError }) => [isCancelled, isUnsupported, isError])).toEqual(
    [
      [undefined, true, false],
      [true, undefined, false],
      [undefined, undefined, false],
      [undefined, undefined, false],
      [undefined, undefined, true],
    ],
  );
  const bars = marksOf(rows, "client", 0, 10_000).filter(({ to }) => to !== undefined);
  expect(bars.map(({ to, words, tone }) => [to, words, tone])).toEqual([
    [200, "server/discover not supported", "plain"],
    [400, "book cancelled", "plain"],
    [700, "hang", "call"],
  ]);
});

test("an exchange over HTTP is one bar, from its request to its status", () => {
  const rows = [
    row(1, { lane: "http", kind: "http", title: "POST /mcp" }),
    row(3, { lane: "http", kind: "http", title: "200", partner: 1, tookMs: 200 }),
  ];
  expect(marksOf(rows, "http", 0, 1_000).map(({ from, to }) => [from, to])).toEqual([[100, 300]]);
});

test("of many rows the lanes show when something happened, and each failure", () => {
  const rows = Array.from({ length: 20_000 }, (_, at) =>
    row(at + 1, { at, lane: "server", kind: "notification", title: "notifications/message", isError: at === 777 }),
  );
  const marks = marksOf(rows, "server", 0, 20_000);
  expect(marks.length).toBeLessThanOrEqual(140);
  expect(marks.at(-1)?.from).toBeGreaterThan(19_000);
  expect(marks.filter(({ tone }) => tone === "bad").map(({ n }) => n)).toEqual([778]);
});
