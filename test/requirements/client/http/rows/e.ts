import { between, revisions, stateful } from "../../../../kit/revisions.ts";
import { type Row, server } from "../../../rows/row.ts";

const polling = between("2025-11-25", "2025-11-25");

/** Streamable HTTP with sessions, and the parts that also apply without them. */
export const rowsE: { readonly [row: string]: Row } = {
  "C-B15": { about: "shutdown closes connections and ends the session", on: revisions },
  "C-E1": { about: "one endpoint for POST and GET; POST only where there are no sessions", on: revisions },
  "C-E2": { about: "a POST accepts JSON and streams, a GET streams", on: revisions },
  "C-E3": { about: "each POST carries one message, and no responses without sessions", on: revisions },
  "C-E4": {
    about: "notifications and responses expect 202, and a refusal does not affect other messages",
    on: stateful,
  },
  "C-E5": { about: "a request may be answered with JSON or with a stream", on: revisions },
  "C-E6": { about: "messages before the response are delivered before it", on: revisions },
  "C-E7": { about: "a stream that ends early is resumed where possible", on: revisions },
  "C-E8": { about: "an event without data carries only its id", on: polling },
  "C-E9": { about: "the client waits for the retry time of the stream", on: polling },
  "C-E10": {
    about: "a cancelled request is notified, or its connection is closed where there are no sessions",
    on: revisions,
  },
  "C-E11": { about: "the GET stream is opened in a session, and the server may refuse it", on: revisions },
  "C-E12": { about: "several streams may be open at once", on: revisions },
  "C-E13": { about: "event ids are opaque", on: stateful },
  "C-E14": { about: "a stream is resumed by GET after its last event", on: revisions },
  "C-E15": { about: "a session id is visible ASCII and is guarded", on: revisions },
  "C-E16": { about: "every request after the handshake has the session id", on: stateful },
  "C-E17": { about: "after the end of a session the client begins a new one, without the old id", on: stateful },
  "C-E18": { about: "the client ends its session with DELETE, and accepts a refusal", on: stateful },
  "C-E19": { about: "requests have the version header", on: between("2025-06-18", "2026-07-28") },
  "C-E20": { about: "an invalid origin is refused", later: server },
  "C-E21": { about: "a server without authentication binds to loopback", later: server },
  "C-E22": { about: "a session is not authentication: credentials are sent with every request", on: revisions },
  "C-XE1": { about: "connecting has a time limit and can be aborted", on: revisions },
  "C-XE2": { about: "redirects are followed within the origin, and permanent ones are remembered", on: revisions },
  "C-XE3": {
    about: "the client honours Retry-After, and never retries a call by itself",
    on: revisions,
  },
};
