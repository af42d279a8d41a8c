import { between, revisions, stateful } from "../../../../kit/revisions.ts";
import { type Row, server } from "../../../rows/row.ts";

const polling = between("2025-11-25", "2025-11-25");

/** Streamable HTTP with sessions, and what of it is left without them. */
export const rowsE: { readonly [row: string]: Row } = {
  "C-B15": { about: "shutdown closes connections and ends the session", on: revisions },
  "C-E1": { about: "one address for POST and GET, and for POST alone where there are no sessions", on: revisions },
  "C-E2": { about: "a POST accepts JSON and streams, a GET streams", on: revisions },
  "C-E3": { about: "each POST carries one message, and no responses without sessions", on: revisions },
  "C-E4": { about: "notifications and responses expect 202, and a refusal spoils nothing", on: stateful },
  "C-E5": { about: "a request may be answered by JSON or by a stream", on: revisions },
  "C-E6": { about: "what is said before the response is heard before it", on: revisions },
  "C-E7": { about: "a stream that ends early is gone on with where that is possible", on: revisions },
  "C-E8": { about: "an event without data says nothing but its id", on: polling },
  "C-E9": { about: "the client waits as long as the stream says", on: polling },
  "C-E10": { about: "giving a request up is told, or is the end of its connection without sessions", on: revisions },
  "C-E11": { about: "the GET stream is opened where there are sessions, and may be refused", on: revisions },
  "C-E12": { about: "several streams are open at once", on: revisions },
  "C-E13": { about: "event ids are opaque", on: stateful },
  "C-E14": { about: "a stream is resumed by GET behind its last event", on: revisions },
  "C-E15": { about: "a session id is visible ASCII and is guarded", on: revisions },
  "C-E16": { about: "everything after the handshake names the session", on: stateful },
  "C-E17": { about: "a session that is over is begun anew, without its id", on: stateful },
  "C-E18": { about: "the client ends its session, and bears that it cannot", on: stateful },
  "C-E19": { about: "requests name their version", on: between("2025-06-18", "2026-07-28") },
  "C-E20": { about: "a wrong origin is refused", later: server },
  "C-E21": { about: "a server is local unless it knows its callers", later: server },
  "C-E22": { about: "a session is no authentication: credentials go with every request", on: revisions },
  "C-XE1": { about: "connecting has a time limit and can be given up", on: revisions },
  "C-XE2": { about: "redirects are followed within the origin, and remembered if they are for good", on: revisions },
  "C-XE3": {
    about: "the client comes back when a busy server says, and never repeats a call by itself",
    on: revisions,
  },
};
