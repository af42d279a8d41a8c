import { revisions as all, between, stateless } from "../../../kit/revisions.ts";
import { host, type Row, tasks } from "../../rows/row.ts";

const withOutput = between("2025-06-18", "2026-07-28");

/** Tools. */
export const rowsG: { readonly [row: string]: Row } = {
  "C-G1": { about: "the tools of a server that declares them are listed; one that does not has none", on: all },
  "C-G2": { about: "a tool is listed with all its members", on: all },
  "C-G3": { about: "the keywords of an input schema are kept", on: all },
  "C-G4": { about: "structured content is checked against the output schema", on: withOutput },
  "C-G5": { about: "structured content follows the output schema", on: withOutput },
  "C-G6": { about: "tool annotations arrive as given, and none are added", on: all },
  "C-G7": { about: "which of name and title is shown", later: host },
  "C-G8": { about: "tool names are sent unchanged", on: all },
  "C-G9": { about: "a change of the tool list is reported", on: all },
  "C-G10": { about: "a list does not depend on the connection", untestable: "a duty of servers" },
  "C-G11": { about: "the order of a list is the server's", on: all },
  "C-G12": { about: "an unknown tool is an error", on: all },
  "C-G13": { about: "arguments that the model can correct are a result, others an error", on: all },
  "C-G14": { about: "a tool that fails has a result", on: all },
  "C-G15": { about: "inputs are validated, access controlled, outputs sanitized", untestable: "a duty of servers" },
  "C-G16": {
    about: "results are validated and calls have time limits; confirmation and audit are the host's task",
    on: all,
  },
  "C-G17": { about: "a person stays in the loop", later: host },
  "C-G18": { about: "a call may be turned into a task", later: tasks },
  "C-G19": { about: "a tool may first answer with requests to the client", on: stateless },
  "C-G20": { about: "handles instead of session state", untestable: "guidance to the authors of tools" },
  "C-XG1": { about: "content keeps its types and their order, also unknown types", on: all },
  "C-XG2": { about: "an unusable schema disables only its own tool", on: withOutput },
};
