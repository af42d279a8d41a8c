import { revisions, stateful } from "../../../kit/revisions.ts";
import type { Row } from "../../../requirements/rows/row.ts";

const any = ["2025-11-25", "2026-07-28"] as const;

/** Behaviour of this server that the specification leaves open. */
export const rowsX: { readonly [row: string]: Row } = {
  "X-status": { about: "every refusal is a JSON-RPC error, with the id if it could be read", on: revisions },
  "X-lazy": { about: "an answer is JSON unless a message precedes it", on: any },
  "X-takeover": { about: "only its own client can take over a GET stream", on: stateful },
  "X-cancel": { about: "cancelling a request also ends its HTTP answer", on: stateful },
  "X-end": { about: "a stream ends when no more messages can follow", on: stateful },
  "X-token": { about: "streams end when the caller's token expires", on: any },
  "X-close": { about: "closing the server lets running calls end", on: any },
  "X-two": { about: "a session can be served by two processes at once", on: stateful },
  "X-sessionless": { about: "a server without sessions refuses a handshake and lists its versions", on: any },
  "X-eras": { about: "clients of all revisions share one endpoint", on: any },
};
