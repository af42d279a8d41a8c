import { because, type Gaps, noEvents, noLettingGo, noPages, noProgress, noSessions, oneShot } from "./gaps.ts";
import { fixtureOverHttp, type Speaking } from "./http-columns.ts";
import { runColumns } from "./run-columns.ts";

const always = {
  ...noPages,
  ...noLettingGo,
  ...because("its completers are not told the other arguments", "completion: in context"),
  ...because("it keeps the level, but sends everything all the same", "log: level"),
};
const noCallsInJson = because(
  "a reply in JSON has no events to go on behind",
  "resumption: of a call that was cut off",
);
const noLog = because("it logs on the stream of the session, and there is none", "log");

const fastmcp = (title: string, habit: string, lacks: Gaps = {}, more: Partial<Speaking> = {}) =>
  fixtureOverHttp({ title: `fastmcp ${title}`, fixture: "fastmcp", habit, lacks: { ...always, ...lacks }, ...more });

runColumns("fastmcp servers over HTTP", [
  fastmcp("events", "sessions"),
  fastmcp("json", "json", { ...noProgress, ...noCallsInJson }),
  fastmcp("sessionless", "sessionless", { ...oneShot, ...noLog, ...noSessions, ...noEvents }),
  fastmcp("http-sse", "sessions", { ...noSessions, ...noEvents }, { path: "/sse" }),
]);
