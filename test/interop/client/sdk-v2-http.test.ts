import {
  because,
  type Gaps,
  noEvents,
  noLogInJson,
  noPages,
  noProgress,
  noSessions,
  oneShot,
  onlyReplies,
} from "./gaps.ts";
import { type FixtureOptions, fixtureOverHttp, stateless } from "./http-columns.ts";
import { runColumns } from "./run-columns.ts";

const noRootsChange = because("a stateless server asks again each time", "roots: changed");
const withSessions = noPages;
const withoutSessions = { ...noPages, ...noRootsChange, ...noSessions, ...noEvents };

const sdkV2 = (habit: string, lacks: Gaps, more: Partial<FixtureOptions> = {}) =>
  fixtureOverHttp({ title: `SDK v2 ${habit}`, fixture: "sdk-v2", habit, lacks, ...more });

runColumns("SDK v2 servers over HTTP", [
  ...["2024-11-05", "2025-03-26", "2025-06-18"].map((version) =>
    sdkV2("sessions", { ...withSessions, ...noEvents }, { title: `SDK v2 ${version}`, version, era: version }),
  ),
  sdkV2("sessions", { ...withSessions, ...noEvents }),
  sdkV2("sessions-json", { ...withSessions, ...noProgress, ...onlyReplies, ...noEvents }),
  sdkV2("sessions-polling", withSessions),
  sdkV2(
    "auto",
    { ...withSessions, ...oneShot, ...noSessions, ...noEvents },
    { title: "SDK v2 one-shot 2025-11-25", era: "stateful" },
  ),
  sdkV2("auto", withoutSessions, { version: stateless }),
  sdkV2("sse", withoutSessions, { version: stateless }),
  sdkV2("json", { ...withoutSessions, ...noProgress, ...noLogInJson }, { version: stateless }),
]);
