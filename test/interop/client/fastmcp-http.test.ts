import { because, type Gaps, noEarlyClose, noEvents, noPages, noProgress, noSessions, oneShot } from "./gaps.ts";
import { type FixtureOptions, fixtureOverHttp } from "./http-columns.ts";
import { runColumns } from "./run-columns.ts";

const always = {
  ...noPages,
  ...noEarlyClose,
  ...because("its completers do not receive the other arguments", "completion: in context"),
  ...because("it stores the log level but does not filter by it", "log: level"),
};
const noCallsInJson = because("a JSON response has no events to resume from", "resumption: of an interrupted call");
const noLog = because("it logs on the session's stream, and there is none", "log");

const fastmcp = (title: string, habit: string, lacks: Gaps = {}, more: Partial<FixtureOptions> = {}) =>
  fixtureOverHttp({ title: `fastmcp ${title}`, fixture: "fastmcp", habit, lacks: { ...always, ...lacks }, ...more });

runColumns("fastmcp servers over HTTP", [
  fastmcp("events", "sessions"),
  fastmcp("json", "json", { ...noProgress, ...noCallsInJson }),
  fastmcp("sessionless", "sessionless", { ...oneShot, ...noLog, ...noSessions, ...noEvents }),
  fastmcp("http-sse", "sessions", { ...noSessions, ...noEvents }, { path: "/sse" }),
]);
