import { revisions } from "../../../kit/revisions.ts";
import type { Row } from "../../rows/row.ts";

const core = ["2025-11-25"] as const;
const extension = ["2026-07-28"] as const;
const both = ["2025-11-25", "2026-07-28"] as const;
const none = ["2024-11-05", "2025-03-26", "2025-06-18"] as const;

/** Tasks: those of the core of 2025-11-25, and those of the extension. */
export const rowsX: { readonly [row: string]: Row } = {
  "C-X3": { about: "the client declares the extension in every request", on: extension },
  "C-X6": { about: "a client without the extension declares and sends nothing of it", on: revisions },
  "C-X11": { about: "no call becomes a task without the capability and the support of the tool", on: core },
  "C-X13": { about: "a tool that requires a task is called with one", on: core },
  "C-X18": { about: "the result of a failed tool is fetched as well", on: core },
  "C-X20": { about: "tasks/result is called at once when the task needs input, and polls go on", on: core },
  "C-X22": { about: "requests about a task do not name it a second time in _meta", on: core },
  "C-X28": { about: "the progress token of the call stays valid for the life of the task", on: core },
  "C-X30": { about: "the client polls, and does not rely on notifications", on: both },
  "C-X42": { about: "both a result and a task are accepted from tools/call, a task from nothing else", on: extension },
  "C-X48": { about: "a failed task fails the call with its error, a failed tool is a result", on: extension },
  "C-X50": { about: "a key that comes back with another question ends the task", on: extension },
  "C-X51": { about: "each answer is sent with tasks/update", on: extension },
  "C-X53": { about: "a task is cancelled with tasks/cancel alone", on: both },
  "C-X54": { about: "polls respect the interval, and ids outlive the process", on: both },
  "C-X55": { about: "questions of a task are answered like any other, and each once", on: both },
  "C-X57": { about: "a stream of changes replaces the fast polls where the server has one", on: extension },
  "C-X62": { about: "the extension is not declared before 2026-07-28", on: [...none, ...core] },
  "C-X66": { about: "a task that the server does not know, or is silent about beyond its ttl, is lost", on: both },
};
