import { revisions, stateless, transports } from "../../../kit/revisions.ts";
import type { Row } from "../../rows/row.ts";

/** Subscriptions. */
export const rowsU: { readonly [row: string]: Row } = {
  "C-U1": { about: "listening is one long request with a filter", on: stateless },
  "C-U2": { about: "what was not asked for is not told", on: stateless },
  "C-U3": { about: "the acknowledgement comes first and says what will be heard", on: stateless },
  "C-U4": { about: "changes find their watch by the id of its request, in its own JSON type", on: stateless },
  "C-U5": { about: "several watches run side by side", on: stateless },
  "C-U6": { about: "either side can end a subscription", on: stateless },
  "C-U7": { about: "a subscription that was lost is opened again, and all is taken to have changed", on: stateless },
  "C-U8": { about: "progress and log messages need no subscription", on: stateless },
  "C-XU1": {
    about: "a watch tells each change once while nobody looks, and ends with its connection",
    on: revisions,
    over: transports,
  },
};
