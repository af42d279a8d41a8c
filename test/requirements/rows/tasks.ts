import { between } from "../../kit/revisions.ts";
import { client, host, http, type Row } from "./row.ts";

const core = ["2025-11-25"] as const;
const extension = ["2026-07-28"] as const;
const both = between("2025-11-25", "2026-07-28");
const older = between("2024-11-05", "2025-06-18");
/** Tasks, on the server: those of the core of 2025-11-25, and those of the extension. */
export const rowsTasks: { readonly [row: string]: Row } = {
  X10: { about: "the capability is declared before any call may be a task", on: core },
  X11: { about: "no call becomes a task without capability and support", later: client },
  X12: { about: "a call of a plain tool as a task is refused", on: core },
  X13: { about: "a plain call of a tool that requires a task is refused", on: core },
  X14: { about: "without the capability, params.task is ignored", on: older },
  X15: { about: "an accepted call is answered at once with a task that works", on: core },
  X16: { about: "dates and the actual ttl stand in every task", on: core },
  X17: { about: "tasks/result waits for the end and answers what the call would have", on: core },
  X18: { about: "failed is an error or a failed tool, whose result is a result", on: core },
  X19: {
    about: "a task that needs input says so, and asks on tasks/result, or on the session of a client that polls",
    on: core,
  },
  X20: { about: "on input_required, tasks/result is called at once", later: client },
  X21: { about: "tasks/get is not answered with a stream", later: http },
  X22: { about: "messages of a task name it, its state does not", on: core },
  X23: { about: "a cancelled task is cancelled before the response, and stays so", on: core },
  X24: { about: "unknown ids and wrong cursors are invalid params", on: core },
  X25: { about: "the list has what get finds, in pages", on: core },
  X26: { about: "tasks are bound to their principal", later: http },
  X27: { about: "an expired task is unknown", on: core },
  X28: { about: "the progress token of the call stays valid", on: core },
  X29: { about: "tasks of a caller and their lifetime are limited", on: both },
  X40: { about: "only requests that declare the extension get a task", on: extension },
  X41: { about: "a tool that requires a task needs the declaration", on: extension },
  X42: { about: "both shapes are accepted from tools/call", later: client },
  X43: { about: "the creating result is flat and has the type task, and no other result has", on: extension },
  X44: { about: "a task is found as soon as its id is told", on: both },
  X45: { about: "rounds of questions before the task are finished first", on: extension },
  X46: { about: "tasks/get has all open questions", on: extension },
  X47: { about: "requests without the declaration are refused, unknown ids are invalid", on: extension },
  X48: { about: "failed is an error and nothing else", on: extension },
  X49: { about: "the result is what the call would have answered", on: extension },
  X50: { about: "a key of a question never returns", on: extension },
  X51: { about: "updates are acknowledged; parts are kept, unknown keys ignored", on: extension },
  X52: { about: "cancel is acknowledged, also for an ended task", on: extension },
  X56: { about: "Mcp-Name repeats the id", later: http },
  X57: { about: "a listener of tasks needs the declaration", on: extension },
  X58: { about: "listeners get the whole task, of their own tasks alone", on: extension },
  X59: { about: "no progress and no log messages of a task", on: extension },
  X60: { about: "ids cannot be guessed", on: both },
  X61: { about: "questions of a task are no more trusted than others", later: host },
  X62: { about: "the extension means nothing on 2025-11-25, its capability nothing on 2026-07-28", on: both },
  X63: { about: "older tasks are open to clients without the extension", later: http },
  X64: { about: "the methods and params of 2025-11-25 are gone", on: extension },
  X65: { about: "a task fails at the end of its lifetime, and not before", on: extension },
  X67: {
    about: "other requests than tools/call may become tasks",
    untestable:
      "advice for a design: no revision lets another request become a task, so that no peer could tell; ours are calls",
  },
};
