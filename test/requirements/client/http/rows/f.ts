import { stateless } from "../../../../kit/revisions.ts";
import { type Row, server } from "../../../rows/row.ts";

/** HTTP without sessions. */
export const rowsF: { readonly [row: string]: Row } = {
  "C-F1": { about: "Mcp-Method repeats the method", on: stateless },
  "C-F2": { about: "Mcp-Name repeats the name, the URI or the task", on: stateless },
  "C-F3": { about: "values that are no plain ASCII are encoded, and those that look encoded too", on: stateless },
  "C-F4": { about: "a header that is missing or wrong is an error of the call", on: stateless },
  "C-F5": { about: "the version header equals the version of the body", on: stateless },
  "C-F6": { about: "a version that is not served is another one's turn, or the end", on: stateless },
  "C-F7": { about: "every request carries its metadata", on: stateless },
  "C-F8": { about: "a capability that was not declared is an error that names it", on: stateless },
  "C-F9": { about: "404 with -32601 is a missing method and no older server", on: stateless },
  "C-F10": { about: "errors are read whatever their status", on: stateless },
  "C-F11": { about: "a request without version anywhere", later: server },
  "C-F12": { about: "arguments that a tool marks are repeated in headers", on: stateless },
  "C-F13": { about: "tools with bad marks are dropped, with a warning, and no others", on: stateless },
  "C-F14": { about: "null and absent arguments have no header", on: stateless },
  "C-F15": { about: "a refused header makes the client look at the list again, once", on: stateless },
  "C-F16": { about: "integers are compared as numbers", later: server },
  "C-F17": { about: "secrets are not repeated in headers", untestable: "guidance to the authors of tools" },
  "C-F18": { about: "comments keep a stream alive and say nothing", on: stateless },
  "C-F19": { about: "a broken stream loses its request, which is not resumed", on: stateless },
  "C-F20": { about: "no verbs and headers of sessions are sent", on: stateless },
  "C-F21": { about: "a notification of an application is posted with its headers", on: stateless },
  "C-F22": { about: "proxies that rely on the headers", later: "the gateway" },
  "C-F23": { about: "headers that are passed on", later: "the gateway" },
};
