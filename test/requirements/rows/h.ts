import { revisions as all, stateless } from "../../kit/revisions.ts";
import type { Row } from "./row.ts";

/** Resources, prompts, completion. */
export const rowsH: { readonly [row: string]: Row } = {
  H1: { about: "a listed resource has the members of its revision and none of a later one", on: all },
  H2: { about: "templates are listed in pages and match the URIs they describe", on: all },
  H3: { about: "a read returns one or more contents, as text or base64, or an error", on: all },
  H4: { about: "only subscribers of a resource receive updates of it and of its children", on: all },
  H5: { about: "a missing resource has the error code of the revision and names the URI", on: all },
  H6: { about: "any absolute URI can identify a resource", on: all },
  H7: {
    about: "the length and form of URIs are checked",
    on: all,
    lacks: "paths of file: URIs are sanitised by the server that reads them, as portolan-files does",
  },
  H8: { about: "resources/read may first send requests to the client", on: stateless },
  H9: { about: "a listed prompt has the members of its revision and none of a later one", on: all },
  H10: { about: "values of prompt arguments are strings", on: all },
  H11: { about: "prompt messages have the content types of the revision", on: all },
  H12: { about: "an unknown prompt and a missing argument are -32602", on: all },
  H13: { about: "prompts/get may first send requests to the client", on: stateless },
  H14: { about: "completion suggests at most 100 values, with total and hasMore", on: all },
  H15: {
    about:
      "completion validates its input and shows only what the caller may see; requests per minute are limited over HTTP",
    on: all,
    lacks: "stdio has no rate limit",
  },
  XH1: { about: "a fixed URI takes precedence over a matching template", on: all },
  XH2: { about: "resources listed by a template inherit its members", on: all },
  XH3: { about: "an error in a read or get handler is hidden from the client and reported to the operator", on: all },
  XH4: { about: "a cursor is valid only for the list that issued it", on: all },
};
