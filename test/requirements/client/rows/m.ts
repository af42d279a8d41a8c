import { stateless } from "../../../kit/revisions.ts";
import type { Row } from "../../rows/row.ts";

/** Multi round trips. */
export const rowsM: { readonly [row: string]: Row } = {
  "C-M1": { about: "only tools/call, prompts/get and resources/read may return input_required", on: stateless },
  "C-M2": { about: "an input_required result has bare requests, a state, or both", on: stateless },
  "C-M3": { about: "a request for an undeclared capability is not answered", on: stateless },
  "C-M4": {
    about: "a retry has the same params, the answers under their keys, the exact state and a new id",
    on: stateless,
  },
  "C-M5": { about: "a round may have a state only, and is retried with back-off", on: stateless },
  "C-M6": { about: "answers and state belong to one call: parallel calls do not mix", on: stateless },
  "C-M7": { about: "a state is opaque", on: stateless },
  "C-M8": { about: "a repeated request is answered again", on: stateless },
  "C-M9": { about: "a caller may handle a round itself, and need not continue it", on: stateless },
  "C-M10": { about: "the result of a retry is not cached", on: stateless },
  "C-XM1": { about: "a call has at most sixteen rounds", on: stateless },
  "C-XM2": { about: "a refused answer rejects the call, and nothing more is sent", on: stateless },
  "C-XM3": { about: "aborting a call ends its open requests", on: stateless },
};
