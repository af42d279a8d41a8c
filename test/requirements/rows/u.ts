import { stateless } from "../../kit/revisions.ts";
import { client, type Row } from "./row.ts";

/** Subscriptions. */
export const rowsU: { readonly [row: string]: Row } = {
  U1: { about: "listen is one long request with a filter", on: stateless },
  U2: { about: "nothing is sent that the filter does not name", on: stateless },
  U3: { about: "the acknowledgement comes first and names what will be heard", on: stateless },
  U4: {
    about: "every message of a subscription is tagged with the id of its request, in its own JSON type",
    on: stateless,
  },
  U5: { about: "several subscriptions run side by side, each with its filter", on: stateless },
  U6: {
    about: "a cancelled subscription is silent; one that the server ends has a result and then a notice",
    on: stateless,
  },
  U7: { about: "a lost stream is opened again", later: client },
  U8: { about: "progress and log messages never ride a subscription", on: stateless },
};
