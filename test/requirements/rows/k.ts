import { revisions as all, between, stateful, stateless } from "../../kit/revisions.ts";
import { client, host, type Row } from "./row.ts";

const withElicitation = between("2025-06-18", "2026-07-28");

/** Roots, sampling and elicitation: the server's side, which sends the requests. */
export const rowsK: { readonly [row: string]: Row } = {
  K1: { about: "roots are requested only from clients that declare them, and are file URIs", on: all },
  K2: { about: "a refusal of roots ends the call with the client's error", on: stateful },
  K3: { about: "a sampling request has the author's parameters, in the form of the revision", on: all },
  K4: { about: "sampling messages have the media types of the revision", on: all },
  K5: { about: "model hints arrive in order", on: all },
  K6: { about: "includeContext is sent only to clients that declare it", on: all },
  K7: { about: "sampling with tools needs its capability, and tool results follow their tool uses", on: all },
  K8: { about: "a refusal of sampling ends the call with the client's error", on: stateful },
  K9: { about: "a person reviews requests and answers of the model", later: host },
  K10: { about: "forms are flat, have the form of the revision, and their answers are checked", on: all },
  K11: { about: "URL elicitation is sent only to clients that declare it", on: all },
  K12: { about: "accept, decline and cancel are three outcomes, none of them an error", on: withElicitation },
  K13: { about: "an undeclared elicitation mode is never requested", on: all },
  K14: { about: "forms do not request secrets", untestable: "a duty of the authors of servers" },
  K15: { about: "the user sees which server asks, and may refuse", later: host },
  K16: { about: "an answer belongs to the user who was asked", on: stateless, over: ["memory"] },
  K17: { about: "the client limits the rate of requests", later: client },
  XK1: {
    about: "an empty elicitation capability means forms only, and an absent mode means a form",
    on: withElicitation,
  },
  XK2: { about: "a nested form is refused at its definition", on: withElicitation },
  XK3: { about: "cancelling a call cancels its requests to the client", on: between("2025-06-18", "2025-11-25") },
  XK4: { about: "the capabilities that a tool needs are checked before it runs", on: all },
  XK5: {
    about: "a handler behaves the same on every revision: sequential and parallel requests, once, explicit rounds",
    on: withElicitation,
  },
  XK6: { about: "an empty list of roots is a valid answer", on: all },
};
