import { expect, test } from "vitest";
import { grade, type Report, type Scenario, scenarios, type Transport } from "../../packages/check/src/index.ts";
import { type Passed, problemsOf } from "../kit/conversation.ts";
import { besides, keep, pathOf, scripted, spokenIn, startHttp } from "./kit.ts";

const options = { timeoutMs: 10_000, startMs: 30_000 };
const full = scripted("../kit/serve.mjs", pathOf("../kit/full-server.mjs"));

test("our server passes every scenario over stdio", async () => {
  const passed: Passed[] = [];
  const report = await grade(full, { ...options, onMessage: keep(passed) });
  expect(besides(report, "pass")).toEqual([]);
  expect(report.isPassed).toBe(true);
  expect(spokenIn(report)).toEqual([
    "2024-11-05 stdio",
    "2025-03-26 stdio",
    "2025-06-18 stdio",
    "2025-11-25 stdio",
    "2026-07-28 stdio",
  ]);
  expect(unseen(report, "stdio")).toEqual([]);
  expectValid(passed, 500);
});

test("our server passes every scenario over Streamable HTTP", async () => {
  const passed: Passed[] = [];
  const url = await startHttp(scripted("./fixtures/full-http.mjs"));
  const report = await grade({ url }, { ...options, onMessage: keep(passed) });
  expect(besides(report, "pass")).toEqual([]);
  expect(spokenIn(report)).toEqual(["2025-03-26 http", "2025-06-18 http", "2025-11-25 http", "2026-07-28 http"]);
  expect(unseen(report, "http")).toEqual([]);
  expectValid(passed, 500);
});

test("our server passes every scenario over HTTP+SSE", async () => {
  const url = new URL("/sse", await startHttp(scripted("./fixtures/full-http.mjs"))).href;
  const passed: Passed[] = [];
  const report = await grade({ url }, { ...options, onMessage: keep(passed) });
  expect(besides(report, "pass")).toEqual([]);
  expect(spokenIn(report)).toEqual(["2024-11-05 http-sse"]);
  expectValid(passed, 100);
});

/** Checks that every response of ours is valid, even to invalid requests. */
function expectValid(passed: readonly Passed[], atLeast: number): void {
  expect(passed.filter(({ from }) => from === "server").length).toBeGreaterThan(atLeast);
  expect(problemsOf(passed, "server")).toEqual([]);
}

/** Returns the scenarios of a transport that a report does not contain. */
function unseen({ verdicts }: Report, transport: Transport): string[] {
  const seen = new Set(verdicts.map(({ scenario }) => scenario));
  const isHere = ({ transports, until }: Scenario) =>
    (transports?.includes(transport) ?? true) && (transport === "stdio" || until !== "2024-11-05");
  return scenarios.filter((scenario) => isHere(scenario) && !seen.has(scenario.id)).map(({ id }) => id);
}
