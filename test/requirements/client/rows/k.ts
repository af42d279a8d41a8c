import { revisions as all, between, stateful } from "../../../kit/revisions.ts";
import { host, type Row } from "../../rows/row.ts";

const withElicitation = between("2025-06-18", "2026-07-28");
const withModes = between("2025-11-25", "2026-07-28");

/** Roots, sampling, elicitation: the half of the client that answers. */
export const rowsK: { readonly [row: string]: Row } = {
  "C-K1": { about: "roots are declared, are file URIs, and their change is told where that exists", on: all },
  "C-K2": { about: "roots that were not declared are refused", on: all },
  "C-K3": { about: "a sampling request reaches the application as it was sent", on: all },
  "C-K4": { about: "what a model says is spelled as the revision has it", on: all },
  "C-K5": { about: "model hints arrive in order", on: all },
  "C-K6": { about: "context of servers is refused where it was not declared", on: all },
  "C-K7": { about: "sampling with tools needs its capability, and tool results follow their uses", on: withModes },
  "C-K8": { about: "a refusal of sampling is an error, or ends the call where there is no error to send", on: all },
  "C-K9": { about: "a person reviews requests and answers of the model", later: host },
  "C-K10": { about: "forms are filled in with their defaults, and answers are checked", on: withElicitation },
  "C-K11": { about: "a page to visit is shown, is on the web, and its answer has no content", on: withModes },
  "C-K12": { about: "accept, decline and cancel are three outcomes, none of them an error", on: withElicitation },
  "C-K13": { about: "a mode that was not declared is refused", on: withModes },
  "C-K14": { about: "secrets are not asked for by form", untestable: "a duty of the authors of servers" },
  "C-K15": { about: "who asks and in whose course is told; showing it is the host's", on: all },
  "C-K16": { about: "an answer belongs to the user who was asked", untestable: "a duty of servers" },
  "C-K17": { about: "only so many questions are open at once", on: all },
  "C-XK1": { about: "a question that is taken back is not answered", on: stateful },
  "C-XK2": { about: "questions end with the connection", on: all },
  "C-XK3": { about: "no answer is declared that is not given", on: all },
  "C-XK4": {
    about: "an empty elicitation capability means forms, and an absent mode means a form",
    on: withElicitation,
  },
  "C-XK5": { about: "a call may bring answers of its own", on: all },
};
