import { because, noEvents, noSessions } from "./gaps.ts";
import { everythingOverHttp, fixtureOverHttp, stateless } from "./http-columns.ts";
import { everything } from "./reference.ts";
import { useFolder } from "./reference-folder.ts";
import { everythingChecks, everythingSessionChecks } from "./reference-http.ts";
import { runColumns } from "./run-columns.ts";

const tmcp = { fixture: "tmcp", habit: "sessions" };

useFolder();
runColumns("Other servers over HTTP", [
  fixtureOverHttp({
    ...tmcp,
    title: "tmcp 2025-06-18",
    version: "2025-06-18",
    era: "stateful",
    lacks: {
      ...noEvents,
      ...because("it takes every session for one of its own", ...Object.keys(noSessions)),
      ...because("it asks with the answer to a message, and notifications have none", "roots: changed"),
    },
  }),
  fixtureOverHttp({
    ...tmcp,
    title: "tmcp auto",
    version: stateless,
    lacks: {
      ...noSessions,
      ...noEvents,
      ...because("it asks for roots on stateful connections only", "roots", "roots: changed"),
      ...because(
        "it sets a lifetime for all resources at once, also for those that change",
        "resources: kept as long as allowed",
      ),
    },
  }),
  everythingOverHttp("streamableHttp", everything.server, everythingSessionChecks),
  everythingOverHttp("sse", everything.server, everythingChecks, { ...noSessions, ...noEvents }),
]);
