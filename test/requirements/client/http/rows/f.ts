import { stateless } from "../../../../kit/revisions.ts";
import { type Row, server } from "../../../rows/row.ts";

/** HTTP without sessions. */
export const rowsF: { readonly [row: string]: Row } = {
  "C-F1": { about: "Mcp-Method repeats the method", on: stateless },
  "C-F2": { about: "Mcp-Name repeats the name, the URI or the task", on: stateless },
  "C-F3": { about: "values that are not plain ASCII, and values that look encoded, are encoded", on: stateless },
  "C-F4": { about: "a missing or mismatched header is an error of the call", on: stateless },
  "C-F5": { about: "the version header equals the version of the body", on: stateless },
  "C-F6": { about: "after an unsupported version the client tries another one or fails", on: stateless },
  "C-F7": { about: "every request has its metadata", on: stateless },
  "C-F8": { about: "a missing client capability is an error that names it", on: stateless },
  "C-X56": { about: "Mcp-Name repeats the id of the task on get, update and cancel", on: stateless },
  "C-F9": { about: "404 with -32601 is a missing method, not an older server", on: stateless },
  "C-F10": { about: "JSON-RPC errors are read with any status", on: stateless },
  "C-F11": { about: "a request without a version in header and body", later: server },
  "C-F12": { about: "arguments that a tool annotates with x-mcp-header are mirrored in headers", on: stateless },
  "C-F13": { about: "tools with a bad annotation are dropped with a warning, and no others", on: stateless },
  "C-F14": { about: "null and absent arguments have no header", on: stateless },
  "C-F15": { about: "after a refused header the client fetches tools/list again, once", on: stateless },
  "C-F16": { about: "integers are compared as numbers", later: server },
  "C-F17": { about: "secrets are not mirrored in headers", untestable: "guidance to the authors of tools" },
  "C-F18": { about: "comments keep a stream alive and are otherwise ignored", on: stateless },
  "C-F19": { about: "a request is lost when its stream breaks, and is not resumed", on: stateless },
  "C-F20": { about: "no HTTP methods and headers of sessions are sent", on: stateless },
  "C-F21": { about: "a custom notification is posted with its headers", on: stateless },
  "C-F22": { about: "proxies that enforce rules by the mirrored headers", later: "the gateway" },
  "C-F23": { about: "unknown Mcp-Param headers are forwarded", later: "the gateway" },
};
