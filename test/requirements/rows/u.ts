import { stateless } from "../../kit/revisions.ts";
import { client, type Row } from "./row.ts";

/** Subscriptions. */
export const rowsU: { readonly [row: string]: Row } = {
  U1: { about: "subscriptions/listen is one long request with a filter", on: stateless },
  U2: { about: "nothing is sent that the filter does not name", on: stateless },
  U3: { about: "the acknowledgement is first and names the accepted filter", on: stateless },
  U4: {
    about: "every message of a subscription has the id of its request, with its JSON type",
    on: stateless,
  },
  U5: { about: "several subscriptions are open at once, each with its own filter", on: stateless },
  U6: {
    about: "a cancelled subscription is silent; one that the server ends has a result and then a notification",
    on: stateless,
  },
  U7: { about: "a lost stream is reopened", later: client },
  U8: { about: "progress and log messages are never sent on a subscription", on: stateless },
};
