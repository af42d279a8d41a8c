import { between, revisions, stateful } from "../../../kit/revisions.ts";
import { client, type Row } from "../../../requirements/rows/row.ts";

const polling = between("2025-11-25", "2025-11-25");

/** Streamable HTTP with sessions. */
export const rowsE: { readonly [row: string]: Row } = {
  E1: { about: "one endpoint supports POST and GET", on: stateful },
  E2: { about: "the Accept header decides the form of an answer", on: revisions },
  E3: { about: "a body is one message, or a batch in the revision that has batches", on: revisions },
  E4: { about: "notifications and responses are answered 202 without a body", on: revisions },
  E5: { about: "a request is answered with JSON or with a stream", on: revisions },
  E6: { about: "messages before the response relate to its request", on: revisions },
  E7: { about: "the stream of a request ends with its response", on: revisions },
  E8: { about: "a stream opens with an event that has an id and no data", on: stateful },
  E9: { about: "a stream tells the client how long to wait before it reconnects", on: polling },
  E10: { about: "the meaning of a disconnect", on: revisions },
  E11: { about: "the GET stream carries messages that relate to no request, and no responses", on: stateful },
  E12: { about: "each message is sent on exactly one stream", on: stateful },
  E13: { about: "event ids are unique in a session and identify their stream", on: revisions },
  E14: { about: "a stream is resumed after an event, and no other stream is replayed", on: revisions },
  E15: { about: "session ids are visible ASCII and unguessable", on: revisions },
  E16: { about: "requests without their session id are refused", on: stateful },
  E17: { about: "an ended session is answered 404", on: stateful },
  E18: { about: "a client ends its session with DELETE", on: stateful },
  E19: { about: "the version header is checked, and may be missing", on: stateful },
  E20: { about: "an invalid origin is refused", on: revisions },
  E21: { about: "a server without authentication binds to loopback", on: revisions },
  E22: { about: "a session belongs to the principal that began it", on: stateful },
  "E-client": { about: "how clients keep, resume and give up sessions", later: client },
};
