import { revisions as all, between, stateful, stateless } from "../../kit/revisions.ts";
import { client, host, type Row } from "./row.ts";

const withElicitation = between("2025-06-18", "2026-07-28");

/** Roots, sampling, elicitation: the half of the server that asks. */
export const rowsK: { readonly [row: string]: Row } = {
  K1: { about: "roots are asked for only where declared, and are file URIs", on: all },
  K2: { about: "a refusal of roots ends the call with the client's error", on: stateful },
  K3: { about: "a sampling request carries what the author gave, as the revision spells it", on: all },
  K4: { about: "a model is sent the media that the revision knows", on: all },
  K5: { about: "model hints arrive in order", on: all },
  K6: { about: "context of servers is asked for only where the client declared it", on: all },
  K7: { about: "sampling with tools needs its capability, and tool results follow their uses", on: all },
  K8: { about: "a refusal of sampling ends the call with the client's error", on: stateful },
  K9: { about: "a person reviews requests and answers of the model", later: host },
  K10: { about: "forms are flat, spelled as the revision has them, and their answers are checked", on: all },
  K11: { about: "a page to visit is named where the client declared it", on: all },
  K12: { about: "accept, decline and cancel are three outcomes, none of them an error", on: withElicitation },
  K13: { about: "a mode that was not declared is never asked for", on: all },
  K14: { about: "secrets are not asked for by form", untestable: "a duty of the authors of servers" },
  K15: { about: "the user sees who asks, and may refuse", later: host },
  K16: { about: "an answer belongs to the user who was asked", on: stateless, over: ["memory"] },
  K17: { about: "the client limits how often it is asked", later: client },
  XK1: {
    about: "an empty elicitation capability means forms only, and an absent mode means a form",
    on: withElicitation,
  },
  XK2: { about: "a nested form is refused where it is defined", on: withElicitation },
  XK3: { about: "a question is taken back when its call is cancelled", on: between("2025-06-18", "2025-11-25") },
  XK4: { about: "what a tool needs is checked before it runs", on: all },
  XK5: {
    about: "the handler sees the same on every revision: sequential and joint questions, once, explicit rounds",
    on: withElicitation,
  },
  XK6: { about: "no roots is a valid answer", on: all },
};
