import { between, revisions, stateful, stateless } from "../../../kit/revisions.ts";
import type { Row } from "../../../requirements/rows/row.ts";

/** Requirements of every transport for which HTTP has its own tests. */
export const rowsBase: { readonly [row: string]: Row } = {
  A2: { about: "ids are strings or integers and come back as they were", on: revisions },
  A4: { about: "a response has the id of its request and either a result or an error", on: revisions },
  A9: { about: "the bytes are UTF-8", on: revisions },
  A18: { about: "no context is derived from earlier requests, even on the same connection", on: stateless },
  B4: { about: "the version is the requested one, or another that the server supports", on: stateful },
  B5: {
    about: "before the handshake is over, pings are answered and the server sends nothing by itself",
    on: stateful,
  },
  B15: { about: "shutting down closes streams and connections", on: revisions },
  B16: { about: "a handshake does not affect stateless requests", on: stateless },
  J13: { about: "a result that depends on the caller is private", on: stateless },
  XI4: {
    about: "notifications and errors to an older peer contain nothing of a later revision",
    on: between("2024-11-05", "2025-06-18"),
  },
};
