import { revisions, stateless, transports } from "../../../kit/revisions.ts";
import type { Row } from "../../rows/row.ts";

/** Subscriptions. */
export const rowsU: { readonly [row: string]: Row } = {
  "C-U1": { about: "subscriptions/listen is one long request with a filter", on: stateless },
  "C-U2": { about: "changes outside the filter are not reported", on: stateless },
  "C-U3": { about: "the acknowledgement is first and names the accepted filter", on: stateless },
  "C-U4": { about: "changes are correlated to their watch by the request id, with its JSON type", on: stateless },
  "C-U5": { about: "several watches are open at once", on: stateless },
  "C-U6": { about: "either side can end a subscription", on: stateless },
  "C-U7": { about: "a lost subscription is reopened, and everything counts as changed", on: stateless },
  "C-U8": { about: "progress and log messages need no subscription", on: stateless },
  "C-XU1": {
    about: "a watch reports repeated unread changes once, and ends with its connection",
    on: revisions,
    over: transports,
  },
};
