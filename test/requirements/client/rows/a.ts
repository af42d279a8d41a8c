import { between, revisions, stateful, stateless } from "../../../kit/revisions.ts";
import type { Row } from "../../rows/row.ts";

/** The base protocol. */
export const rowsA: { readonly [row: string]: Row } = {
  "C-A1": { about: "everything is JSON-RPC 2.0, and clients of stateless servers send no responses", on: revisions },
  "C-A2": { about: "ids are strings or integers, never null", on: revisions },
  "C-A3": { about: "no id is used twice", on: revisions },
  "C-A4": { about: "a response belongs to the request with its id, and is a result or an error", on: revisions },
  "C-A5": { about: "resultType has a meaning only in the revisions that define it", on: revisions },
  "C-A6": { about: "a missing result type is complete, an unknown one invalid", on: stateless },
  "C-A7": { about: "notifications are never answered", on: revisions },
  "C-A8": { about: "batches are read in the revision that has them and never sent", on: revisions },
  "C-A9": { about: "the bytes are UTF-8, in any chunking", on: revisions, over: ["stdio"] },
  "C-A10": { about: "the standard error codes arrive with their message and data", on: revisions },
  "C-A11": { about: "either code for a missing resource is an error of the call", on: revisions },
  "C-A12": {
    about: "the error code for a required URL elicitation reaches the caller",
    on: between("2025-11-25", "2025-11-25"),
  },
  "C-A13": { about: "the codes of the stateless revision reach the caller with their data", on: stateless },
  "C-A14": { about: "reserved codes are neither interpreted nor sent", on: revisions },
  "C-A15": { about: "metadata passes through in both directions", on: revisions },
  "C-A16": { about: "trace context is sent without a prefix", on: stateless },
  "C-A17": {
    about: "parameter types have their own names",
    untestable: "a refactoring of the schema that does not change messages",
  },
  "C-A18": { about: "no context is derived from earlier requests", untestable: "a duty of servers" },
  "C-XA1": { about: "late, repeated and unknown responses are ignored", on: revisions },
  "C-XA2": { about: "unknown members are kept", on: revisions },
  "C-XA3": { about: "an invalid result fails only its own call", on: revisions },
  "C-XA4": { about: "a value without a JSON form fails before anything is sent", on: revisions },
  "C-XA5": {
    about: "a request of the other era fails in the client, and the error names its replacement",
    on: revisions,
  },
  "C-XA6": { about: "names of Object.prototype have no effect", on: revisions },
  "C-XA7": { about: "concurrent calls get their own answers in any order", on: revisions },
  "C-XA8": { about: "unknown requests of the server are refused", on: stateful },
};
