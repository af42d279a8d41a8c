import { between, revisions, stateful } from "../../../kit/revisions.ts";
import { client, type Row } from "../../../requirements/rows/row.ts";

const polling = between("2025-11-25", "2025-11-25");

/** Streamable HTTP with sessions. */
export const rowsE: { readonly [row: string]: Row } = {
  E1: { about: "one address takes POST and GET", on: stateful },
  E2: { about: "what the client accepts decides the form of an answer", on: revisions },
  E3: { about: "a body is one message, or a batch where there are batches", on: revisions },
  E4: { about: "notifications and responses are answered 202 without a body", on: revisions },
  E5: { about: "a request is answered by JSON or by a stream", on: revisions },
  E6: { about: "what is said before the response belongs to its request", on: revisions },
  E7: { about: "the stream of a request ends with its response", on: revisions },
  E8: { about: "a stream opens with an event that has an id and no data", on: stateful },
  E9: { about: "a stream says how long to wait before coming back", on: polling },
  E10: { about: "what a lost connection means", on: revisions },
  E11: { about: "the GET stream carries what belongs to no request, and no responses", on: stateful },
  E12: { about: "each message goes on exactly one stream", on: stateful },
  E13: { about: "event ids are unique in a session and name their stream", on: revisions },
  E14: { about: "a stream is resumed behind an event, and no other stream with it", on: revisions },
  E15: { about: "session ids are visible ASCII that nobody guesses", on: revisions },
  E16: { about: "requests without their session are refused", on: stateful },
  E17: { about: "a session that is over is not found", on: stateful },
  E18: { about: "a client ends its session", on: stateful },
  E19: { about: "the version header is checked, and may be missing", on: stateful },
  E20: { about: "a wrong origin is refused", on: revisions },
  E21: { about: "a server is local unless it knows its callers", on: revisions },
  E22: { about: "a session belongs to the principal that began it", on: stateful },
  "E-client": { about: "how clients keep, resume and give up sessions", later: client },
};
