import { expect, test } from "vitest";
import { grade, type Report, type Scenario, scenarios, type Transport } from "../../packages/check/src/index.ts";
import { besides, pathOf, scripted, spokenIn, startHttp } from "./kit.ts";

const options = { timeoutMs: 10_000, startMs: 30_000 };
const full = scripted("../kit/serve.mjs", pathOf("../kit/full-server.mjs"));

test("our server passes every scenario over stdio", async () => {
  const report = await grade(full, options);
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
});

test("our server passes every scenario over Streamable HTTP", async () => {
  const report = await grade({ url: await startHttp(scripted("./fixtures/full-http.mjs")) }, options);
  expect(besides(report, "pass")).toEqual([]);
  expect(spokenIn(report)).toEqual(["2025-03-26 http", "2025-06-18 http", "2025-11-25 http", "2026-07-28 http"]);
  expect(unseen(report, "http")).toEqual([]);
});

test("our server passes every scenario over HTTP+SSE", async () => {
  const url = new URL("/sse", await startHttp(scripted("./fixtures/full-http.mjs"))).href;
  const report = await grade({ url }, options);
  expect(besides(report, "pass")).toEqual([]);
  expect(spokenIn(report)).toEqual(["2024-11-05 http-sse"]);
});

/** The scenarios of a transport that a report says nothing about. */
function unseen({ verdicts }: Report, transport: Transport): string[] {
  const seen = new Set(verdicts.map(({ scenario }) => scenario));
  const isHere = ({ transports, until }: Scenario) =>
    (transports?.includes(transport) ?? true) && (transport === "stdio" || until !== "2024-11-05");
  return scenarios.filter((scenario) => isHere(scenario) && !seen.has(scenario.id)).map(({ id }) => id);
}
