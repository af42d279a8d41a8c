import { revisions, stateless } from "../../../kit/revisions.ts";
import type { Row } from "../../rows/row.ts";

/** Utilities. */
export const rowsJ: { readonly [row: string]: Row } = {
  "C-J1": { about: "lists are read page by page to their end, and endless ones fail", on: revisions },
  "C-J2": { about: "a stateless cursor is valid on other connections", on: stateless },
  "C-J3": { about: "requests that may take long have their own progress token", on: revisions },
  "C-J4": { about: "progress is delivered in order, before the result and not after it", on: revisions },
  "C-J5": { about: "an aborted call is cancelled, and its late answer ignored", on: revisions },
  "C-J6": { about: "pings are sent and answered in revisions that have them", on: revisions },
  "C-J7": { about: "eight levels of log messages", on: revisions },
  "C-J8": { about: "the client sets the log level", on: revisions },
  "C-J9": { about: "log messages are delivered, inside and outside calls", on: revisions },
  "C-J10": { about: "internal details of errors are not revealed", on: revisions },
  "C-J11": { about: "a result is cached as long as the server allows, at most one day", on: revisions },
  "C-J12": { about: "cached results are keyed by their request", on: stateless },
  "C-J13": { about: "cached results are not shared between principals", on: stateless },
  "C-J14": { about: "a change invalidates cached results at once", on: stateless },
  "C-J15": { about: "each page is cached separately, and an invalid cursor restarts the list", on: revisions },
};
