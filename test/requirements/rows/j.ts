import { revisions, stateful, stateless } from "../../kit/revisions.ts";
import { client, type Row } from "./row.ts";

export const rowsJ: { readonly [row: string]: Row } = {
  J1: { about: "lists are paginated, and only issued cursors are accepted", on: revisions },
  J2: { about: "a stateless cursor is valid on other connections", on: stateless },
  J3: { about: "progress is sent only with the caller's token", on: revisions },
  J4: { about: "progress increases and ends with the result", on: revisions },
  J5: { about: "a cancelled call is aborted and not answered", on: revisions },
  J6: { about: "pings are answered with an empty result, in revisions that have them", on: revisions },
  J7: { about: "eight levels of log messages", on: revisions },
  J8: { about: "the client sets the log level", on: revisions },
  J9: { about: "log messages are sent where the revision requires", on: revisions },
  J10: {
    about: "internal details of errors are not revealed",
    on: revisions,
    lacks: "messages that authors log themselves are not searched for secrets",
  },
  J11: { about: "six results of the stateless revision have cache hints, and no others", on: revisions },
  J12: { about: "the result of a retry is not cacheable", on: stateless },
  J13: { about: "a result that depends on the caller is private", on: stateless },
  J14: { about: "a change invalidates cached results", later: client },
  J15: { about: "all pages of a list have the same cache scope", on: stateless },
  "X-R08": { about: "late, repeated and unknown cancellations change nothing", on: revisions },
  "X-T28": { about: "a handshake cannot be cancelled", on: stateful },
};
