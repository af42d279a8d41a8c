import { between, revisions, stateful, stateless } from "../../../kit/revisions.ts";
import type { Row } from "../../../requirements/rows/row.ts";

/** What holds on every transport, where HTTP has words of its own for it. */
export const rowsBase: { readonly [row: string]: Row } = {
  A2: { about: "ids are strings or integers and come back as they were", on: revisions },
  A4: { about: "a response has the id of its request and either a result or an error", on: revisions },
  A9: { about: "the bytes are UTF-8", on: revisions },
  A18: { about: "nothing is concluded from earlier requests, on the same connection either", on: stateless },
  B4: { about: "the version is the one asked for, or one that is offered instead", on: stateful },
  B5: { about: "before the handshake is over pings are answered, and nothing is said", on: stateful },
  B15: { about: "shutting down closes streams and connections", on: revisions },
  B16: { about: "a handshake beside stateless requests changes nothing for them", on: stateless },
  J13: { about: "what depends on the caller is private", on: stateless },
  XI4: {
    about: "nothing of a later revision is in notifications and errors to an older peer",
    on: between("2024-11-05", "2025-06-18"),
  },
};
