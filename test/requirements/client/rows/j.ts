import { revisions, stateless } from "../../../kit/revisions.ts";
import type { Row } from "../../rows/row.ts";

/** Utilities. */
export const rowsJ: { readonly [row: string]: Row } = {
  "C-J1": { about: "lists are read page by page to their end, and endless ones given up", on: revisions },
  "C-J2": { about: "a stateless cursor outlives its connection", on: stateless },
  "C-J3": { about: "requests that may take long carry a token of their own for progress", on: revisions },
  "C-J4": { about: "progress is heard in order, before the result and not after it", on: revisions },
  "C-J5": { about: "a call that is given up is cancelled, and its late answer ignored", on: revisions },
  "C-J6": { about: "pings are sent and answered where there are pings", on: revisions },
  "C-J7": { about: "eight levels of log messages", on: revisions },
  "C-J8": { about: "the client says how much is logged", on: revisions },
  "C-J9": { about: "log messages are heard, whatever they came with", on: revisions },
  "C-J10": { about: "what an error says inside stays inside", on: revisions },
  "C-J11": { about: "a result is kept as long as the server allows, and a day at most", on: revisions },
  "C-J12": { about: "what is kept is told apart by what was asked", on: stateless },
  "C-J13": { about: "what is kept passes from no principal to another", on: stateless },
  "C-J14": { about: "a change makes what was kept stale at once", on: stateless },
  "C-J15": { about: "each page is kept alone, and a bad cursor starts the list anew", on: revisions },
};
