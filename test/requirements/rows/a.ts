import { between, revisions, stateless } from "../../kit/revisions.ts";
import { client, type Row } from "./row.ts";

export const rowsA: { readonly [row: string]: Row } = {
  A1: { about: "everything is JSON-RPC 2.0, and a stateless server sends no requests", on: revisions },
  A2: { about: "ids are strings or integers and are returned unchanged", on: revisions },
  A3: { about: "a sender does not reuse an id while its request is open", on: revisions },
  A4: { about: "a response has the id of its request and either a result or an error", on: revisions },
  A5: { about: "results of the stateless revision have a resultType, others do not", on: revisions },
  A6: { about: "the meaning of a missing or unknown resultType", later: client },
  A7: { about: "notifications are never answered", on: revisions },
  A8: { about: "only one revision has batches", on: revisions },
  A9: { about: "the bytes are UTF-8", on: revisions, over: ["stdio"] },
  A10: { about: "the standard error codes have their JSON-RPC meaning", on: revisions },
  A11: { about: "the code for a missing resource depends on the revision", on: revisions },
  A12: { about: "the error code for a required URL elicitation exists in one revision only", on: revisions },
  A13: { about: "the stateless revision has its own error codes, which other revisions never see", on: revisions },
  A14: { about: "handlers may use all error codes except reserved ones", on: revisions },
  A15: { about: "metadata passes through in both directions", on: revisions },
  A16: { about: "trace context reaches the handler", on: stateless },
  A17: {
    about: "parameter types have their own names",
    untestable: "a refactoring of the schema that does not change messages",
  },
  A18: { about: "no context is derived from earlier requests", on: stateless },
  "X-T21": { about: "no message crashes the server", on: revisions },
  "X-T23": { about: "a request with an id in use is refused, and the first one is still answered", on: revisions },
  "X-T25": { about: "names of Object.prototype have no effect", on: revisions },
  "X-T27": { about: "a batch has at most a hundred members", on: between("2025-03-26", "2025-03-26") },
  "X-R01": { about: "a value without a JSON form becomes an error, never silence", on: revisions },
  "X-R11": { about: "unreadable input is answered with its id, unreadable responses never", on: revisions },
  "X-R18": { about: "responses without a request are ignored", on: revisions },
  "X-R19": { about: "ids outside the safe integers are refused", on: revisions },
  "X-methods": { about: "custom methods with checked params", on: revisions },
  "X-order": {
    about: "concurrent calls are answered to the right caller, in the order in which they end",
    on: revisions,
  },
};
