import { stateless } from "../../kit/revisions.ts";
import { client, type Row } from "./row.ts";

/** Multi round trips. */
export const rowsM: { readonly [row: string]: Row } = {
  M1: { about: "only tools/call, prompts/get and resources/read may return input_required", on: stateless },
  M2: { about: "an input_required result has bare requests, a state, or both, and nothing else", on: stateless },
  M3: { about: "an undeclared capability is not requested from the client: -32021 names it", on: stateless },
  M4: { about: "a retry with answers and state completes the call", on: stateless },
  M5: { about: "a round may carry a state only", on: stateless },
  M6: { about: "answers and state belong to one call: parallel calls do not mix", on: stateless },
  M7: {
    about: "a state is untrusted until verified: bytes, tool, arguments, caller and time are bound",
    on: stateless,
  },
  M8: { about: "a missing answer is requested again, an unknown one ignored, a malformed one refused", on: stateless },
  M9: { about: "a call that is never retried blocks nothing", on: stateless },
  M10: { about: "input_required results have no cache hints, and retried reads are not cacheable", on: stateless },
  XM1: { about: "requests of one round are sent together, also those of parallel branches", on: stateless },
  XM2: { about: "sequential rounds keep earlier answers", on: stateless },
  XM3: { about: "an effect in once happens once over all rounds, and its result is JSON", on: stateless },
  XM4: { about: "a key used twice fails the call", on: stateless },
  XM5: { about: "a handler that catches the suspension fails with an error, and the server continues", on: stateless },
  XM6: { about: "an answer to a changed question does not confirm", on: stateless },
  XM7: { about: "information without a state is accepted, consent is not", on: stateless },
  XM8: { about: "a state that does not verify is -32602 and never a new question", on: stateless },
  XM9: { about: "a parked handler continues and never runs twice", on: stateless },
  XM10: { about: "requests that are not awaited at once raise no error", on: stateless },
  XM11: { about: "after the suspension a round sends no more messages", on: stateless },
  XM12: { about: "many rounds are reported to the operator", on: stateless, over: ["memory"] },
  XM13: { about: "a state that is too large stays on the server, and a handle is sent", on: stateless },
  XM14: { about: "the client's loop: caps, pacing, fresh ids", later: client },
};
