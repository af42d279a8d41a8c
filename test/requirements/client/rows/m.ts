import { stateless } from "../../../kit/revisions.ts";
import type { Row } from "../../rows/row.ts";

/** Multi round trips. */
export const rowsM: { readonly [row: string]: Row } = {
  "C-M1": { about: "only tools/call, prompts/get and resources/read answer with questions", on: stateless },
  "C-M2": { about: "an interim result holds bare questions, a state, or both", on: stateless },
  "C-M3": { about: "what the request did not declare is not answered", on: stateless },
  "C-M4": {
    about: "a retry has the same params, the answers under their keys, the exact state and a new id",
    on: stateless,
  },
  "C-M5": { about: "a round may carry a state only, and is tried again ever more slowly", on: stateless },
  "C-M6": { about: "answers and state belong to one call: parallel calls do not mix", on: stateless },
  "C-M7": { about: "a state is opaque, whatever it looks like", on: stateless },
  "C-M8": { about: "a question that is asked again is answered again", on: stateless },
  "C-M9": { about: "a caller may take a round over, and need not go on with it", on: stateless },
  "C-M10": { about: "the result of a retry is not kept", on: stateless },
  "C-XM1": { about: "rounds end after sixteen", on: stateless },
  "C-XM2": { about: "an answer that is refused ends the call, and nothing more is sent", on: stateless },
  "C-XM3": { about: "giving a call up ends its questions", on: stateless },
};
