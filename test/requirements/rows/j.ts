import { revisions, stateful, stateless } from "../../kit/revisions.ts";
import { client, type Row } from "./row.ts";

export const rowsJ: { readonly [row: string]: Row } = {
  J1: { about: "lists come in pages, and only cursors that were given are taken", on: revisions },
  J2: { about: "a stateless cursor outlives its connection", on: stateless },
  J3: { about: "progress is told under the caller's token, and only then", on: revisions },
  J4: { about: "progress grows and ends with the result", on: revisions },
  J5: { about: "a cancelled call is stopped and not answered", on: revisions },
  J6: { about: "pings are answered with nothing, where there are pings", on: revisions },
  J7: { about: "eight levels of log messages", on: revisions },
  J8: { about: "the client says how much is logged", on: revisions },
  J9: { about: "log messages go where the revision wants them", on: revisions },
  J10: { about: "what an error says inside stays inside", on: revisions },
  J11: { about: "cache hints are on six results of the stateless revision and nowhere else", on: revisions },
  J12: { about: "the answer to a retry is not to be kept", on: stateless },
  J13: { about: "what depends on the caller is private", on: stateless },
  J14: { about: "a change makes what was kept stale", later: client },
  J15: { about: "all pages of a list have one scope", on: stateless },
  "X-R08": { about: "cancellations that come late, twice or for nothing change nothing", on: revisions },
  "X-T28": { about: "a handshake cannot be cancelled", on: stateful },
};
