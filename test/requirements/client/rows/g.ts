import { revisions as all, between, stateless } from "../../../kit/revisions.ts";
import { host, type Row, tasks } from "../../rows/row.ts";

const withOutput = between("2025-06-18", "2026-07-28");

/** Tools. */
export const rowsG: { readonly [row: string]: Row } = {
  "C-G1": { about: "the tools of a server that declares them, and none of one that does not", on: all },
  "C-G2": { about: "a tool is listed with all its members", on: all },
  "C-G3": { about: "the keywords of an input schema survive", on: all },
  "C-G4": { about: "an output schema is what the structured content is checked against", on: withOutput },
  "C-G5": { about: "structured content follows the output schema", on: withOutput },
  "C-G6": { about: "tool annotations arrive as given, and none are made up", on: all },
  "C-G7": { about: "which name to show", later: host },
  "C-G8": { about: "tool names are sent as they are written", on: all },
  "C-G9": { about: "a change of the tool list is heard", on: all },
  "C-G10": { about: "a list does not depend on the connection", untestable: "a duty of servers" },
  "C-G11": { about: "the order of a list is the server's", on: all },
  "C-G12": { about: "an unknown tool is an error", on: all },
  "C-G13": { about: "bad arguments that the model can mend are a result, others an error", on: all },
  "C-G14": { about: "a tool that fails has a result", on: all },
  "C-G15": { about: "inputs are checked, access controlled, outputs cleaned", untestable: "a duty of servers" },
  "C-G16": { about: "results are checked and calls have time limits; confirming and audit are the host's", on: all },
  "C-G17": { about: "a person stays in the loop", later: host },
  "C-G18": { about: "a call may be turned into a task", later: tasks },
  "C-G19": { about: "a tool may answer with questions first", on: stateless },
  "C-G20": { about: "handles instead of session state", untestable: "guidance to the authors of tools" },
  "C-XG1": { about: "content keeps its kinds and their order, also kinds that nobody knows", on: all },
  "C-XG2": { about: "a schema that cannot be used takes its own tool with it, and no other", on: withOutput },
};
