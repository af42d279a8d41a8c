import { because, type Gaps, noEvents, noPages, noProgress, noQuestionsInJson, noSessions, oneShot } from "./gaps.ts";
import { type FixtureOptions, fixtureOverHttp } from "./http-columns.ts";
import { runColumns } from "./run-columns.ts";

const noLog = because("it logs on the session's stream, and there is none", "log");

const sdkV1 = (habit: string, lacks: Gaps, more: Partial<FixtureOptions> = {}) =>
  fixtureOverHttp({ title: `SDK v1 ${habit}`, fixture: "sdk-v1", habit, lacks: { ...noPages, ...lacks }, ...more });

runColumns("SDK v1 servers over HTTP", [
  ...["2024-11-05", "2025-03-26", "2025-06-18"].map((version) =>
    sdkV1("events", noEvents, { title: `SDK v1 ${version}`, version, era: version }),
  ),
  sdkV1("events", noEvents),
  sdkV1("json", { ...noProgress, ...noQuestionsInJson, ...noEvents }),
  sdkV1("polling", {}),
  sdkV1("sessionless", { ...oneShot, ...noLog, ...noSessions, ...noEvents }),
  sdkV1("sessionless-json", { ...oneShot, ...noLog, ...noProgress, ...noSessions, ...noEvents }),
  sdkV1("http-sse", { ...noSessions, ...noEvents }),
]);
