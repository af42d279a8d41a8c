import { revisions as all, between, stateless } from "../../kit/revisions.ts";
import { client, host, type Row, tasks } from "./row.ts";

/** Tools. */
export const rowsG: { readonly [row: string]: Row } = {
  G1: { about: "a server with tools declares the capability and answers tools/list; one without has neither", on: all },
  G2: { about: "a listed tool has the members of its revision and none of a later one", on: all },
  G3: { about: "an input schema is an object schema and arrives as the author wrote it", on: all },
  G4: {
    about: "an output schema is listed where the revision has it: first object schemas only, later any schema",
    on: all,
  },
  G5: { about: "structured content follows the output schema and also appears as text", on: all },
  G6: { about: "tool annotations arrive as given where the revision has them", on: all },
  G7: {
    about: "name, title and annotations.title are separate members",
    on: between("2025-06-18", "2026-07-28"),
  },
  G8: { about: "tool names are unique and case-sensitive", on: all },
  G9: { about: "a change of the tool list is announced once per burst, to those who are entitled to it", on: all },
  G10: { about: "every connection sees the same list, regardless of other connections", on: all },
  G11: { about: "the order of a list is the same each time", on: all },
  G12: { about: "an unknown tool is a protocol error", on: all },
  G13: {
    about: "bad arguments are a result for the model; a malformed request is a protocol error",
    on: all,
  },
  G14: { about: "a tool that fails answers with isError and reveals no internal details", on: all },
  G15: {
    about:
      "inputs are checked before the tool runs, outputs before they are sent; calls per minute are limited over HTTP",
    on: all,
    lacks: "who may call a tool and what its texts contain are left to the author; stdio has no rate limit",
  },
  G16: { about: "confirming, showing inputs, time limits and audit", later: `${host}, and result checks ${client}` },
  G17: { about: "a person stays in the loop", later: host },
  G18: { about: "a call may be turned into a task", later: tasks },
  G19: { about: "a tool may first answer with requests to the client", on: stateless },
  G20: { about: "handles instead of session state", untestable: "guidance to the authors of tools" },
  XG1: { about: "content keeps its kinds and their order", on: all },
  XG2: { about: "a result without structured content beside an output schema is the server's mistake", on: all },
  XG3: { about: "structured values that are falsy count as present", on: between("2025-06-18", "2026-07-28") },
  XG4: { about: "a value without a JSON form fails only its own call", on: all },
};
