import { stateless } from "../../kit/revisions.ts";
import { client, type Row } from "./row.ts";

/** Multi round trips. */
export const rowsM: { readonly [row: string]: Row } = {
  M1: { about: "only tools/call, prompts/get and resources/read answer with questions", on: stateless },
  M2: { about: "an interim result holds bare questions, a state, or both, and nothing else", on: stateless },
  M3: { about: "what the request did not declare is not asked for: -32021 names it", on: stateless },
  M4: { about: "a retry with answers and state completes the call; the client's duties are its own", on: stateless },
  M5: { about: "a round may carry a state only", on: stateless },
  M6: { about: "answers and state belong to one call: parallel calls do not mix", on: stateless },
  M7: { about: "a state is hostile until proven: bytes, tool, arguments, caller and time are bound", on: stateless },
  M8: { about: "a missing answer is asked for again, an unknown one ignored, a malformed one refused", on: stateless },
  M9: { about: "a call whose retry never comes leaves nothing that blocks", on: stateless },
  M10: { about: "interim results carry no cache hints, and retried reads are not to be kept", on: stateless },
  XM1: { about: "several questions of one round travel together, also those of sibling branches", on: stateless },
  XM2: { about: "sequential rounds keep earlier answers", on: stateless },
  XM3: { about: "an effect inside once happens once for all rounds, and its result is JSON", on: stateless },
  XM4: { about: "a key used twice fails the call", on: stateless },
  XM5: { about: "a handler that swallows the stop fails loudly, and the server lives on", on: stateless },
  XM6: { about: "a yes to other words does not confirm", on: stateless },
  XM7: { about: "answers without a state are taken", on: stateless },
  XM8: { about: "a state that does not verify is -32602 and never a new question", on: stateless },
  XM9: { about: "a parked handler goes on and is never run twice", on: stateless },
  XM10: { about: "questions that are made and not awaited at once raise nothing", on: stateless },
  XM11: { about: "after the stop nothing more is said for that round", on: stateless },
  XM12: { about: "many rounds are reported to the operator", on: stateless, over: ["memory"] },
  XM13: { about: "a state that grows too large stays here, and a handle travels", on: stateless },
  XM14: { about: "the client's loop: caps, pacing, fresh ids", later: client },
};
