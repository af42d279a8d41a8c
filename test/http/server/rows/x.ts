import { revisions, stateful } from "../../../kit/revisions.ts";
import type { Row } from "../../../requirements/rows/row.ts";

const any = ["2025-11-25", "2026-07-28"] as const;

/** What the specification leaves open and this server does all the same. */
export const rowsX: { readonly [row: string]: Row } = {
  "X-status": { about: "every refusal is a JSON-RPC error under the id that could be read", on: revisions },
  "X-lazy": { about: "an answer is JSON until something is said before it", on: any },
  "X-takeover": { about: "a GET stream is taken over by its own client, and by nobody else", on: stateful },
  "X-cancel": { about: "a cancelled request is over, on its connection too", on: stateful },
  "X-end": { about: "no stream waits for what cannot come any more", on: stateful },
  "X-token": { about: "streams end when the token of their caller does", on: any },
  "X-close": { about: "closing lets what runs end", on: any },
  "X-two": { about: "a session can be served by two processes at once", on: stateful },
  "X-sessionless": { about: "a server without sessions says so to those who want one", on: any },
  "X-eras": { about: "clients of all revisions share one address", on: any },
};
