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
      ...because("it accepts every session id", ...Object.keys(noSessions)),
      ...because("it sends questions only with a response, and notifications have none", "roots: changed"),
    },
  }),
  fixtureOverHttp({
    ...tmcp,
    title: "tmcp auto",
    version: stateless,
    lacks: {
      ...noSessions,
      ...noEvents,
      ...because("it asks for roots only on stateful connections", "roots", "roots: changed"),
      ...because(
        "it sets one cache lifetime for all resources, including those that change",
        "resources: cached for their lifetime",
      ),
    },
  }),
  everythingOverHttp("streamableHttp", everything.server, everythingSessionChecks),
  everythingOverHttp("sse", everything.server, everythingChecks, { ...noSessions, ...noEvents }),
]);
