import { revisions as all, between, stateful } from "../../../kit/revisions.ts";
import { host, type Row } from "../../rows/row.ts";

const withElicitation = between("2025-06-18", "2026-07-28");
const withModes = between("2025-11-25", "2026-07-28");

/** Roots, sampling and elicitation: the client's side, which answers the requests. */
export const rowsK: { readonly [row: string]: Row } = {
  "C-K1": {
    about: "roots are declared, are file URIs, and their changes are notified in revisions that have it",
    on: all,
  },
  "C-K2": { about: "requests for undeclared roots are refused", on: all },
  "C-K3": { about: "a sampling request reaches the application unchanged", on: all },
  "C-K4": { about: "a sampling result has the form of the revision", on: all },
  "C-K5": { about: "model hints arrive in order", on: all },
  "C-K6": { about: "includeContext is refused if it was not declared", on: all },
  "C-K7": { about: "sampling with tools needs its capability, and tool results follow their tool uses", on: withModes },
  "C-K8": { about: "a refusal of sampling is an error, or rejects the call on the stateless revision", on: all },
  "C-K9": { about: "a person reviews requests and answers of the model", later: host },
  "C-K10": { about: "forms are filled in with their defaults, and answers are checked", on: withElicitation },
  "C-K11": {
    about: "a URL elicitation has a web URL, reaches the application, and its answer has no content",
    on: withModes,
  },
  "C-K12": { about: "accept, decline and cancel are three outcomes, none of them an error", on: withElicitation },
  "C-K13": { about: "an undeclared elicitation mode is refused", on: withModes },
  "C-K14": { about: "forms do not request secrets", untestable: "a duty of the authors of servers" },
  "C-K15": {
    about: "the application learns which server asks and during which call; showing it is the host's task",
    on: all,
  },
  "C-K16": { about: "an answer belongs to the user who was asked", untestable: "a duty of servers" },
  "C-K17": {
    about: "the number of open requests of a server is limited",
    on: all,
    lacks: "a limit per time; hosts have one for sampling (its budget)",
  },
  "C-XK1": { about: "a cancelled request is not answered", on: stateful },
  "C-XK2": { about: "open requests end with the connection", on: all },
  "C-XK3": { about: "only capabilities with an answer are declared", on: all },
  "C-XK4": {
    about: "an empty elicitation capability means forms, and an absent mode means a form",
    on: withElicitation,
  },
  "C-XK5": { about: "a call may have its own answers", on: all },
};
