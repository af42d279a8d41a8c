import { revisions as all, stateless } from "../../kit/revisions.ts";
import type { Row } from "./row.ts";

/** Resources, prompts, completion. */
export const rowsH: { readonly [row: string]: Row } = {
  H1: { about: "a listed resource carries the members its revision defines and none of a later one", on: all },
  H2: { about: "templates are listed in pages and match the URIs they describe", on: all },
  H3: { about: "a read gives text or base64, several contents if there are several, and never nothing", on: all },
  H4: { about: "only those who follow a resource hear of its changes, and of what lies below it", on: all },
  H5: { about: "a resource that is not there has the revision's error code and names the URI", on: all },
  H6: { about: "any absolute URI can name a resource", on: all },
  H7: { about: "URIs are checked: length, absoluteness", on: all },
  H8: { about: "reading a resource may ask first", on: stateless },
  H9: { about: "a listed prompt carries the members its revision defines and none of a later one", on: all },
  H10: { about: "values of prompt arguments are strings", on: all },
  H11: { about: "prompt messages hold the content that the revision knows", on: all },
  H12: { about: "an unknown prompt and a missing argument are -32602", on: all },
  H13: { about: "getting a prompt may ask first", on: stateless },
  H14: { about: "completion suggests at most 100 values, with total and hasMore", on: all },
  H15: { about: "completion checks what it is asked and shows no more than the caller may see", on: all },
  XH1: { about: "a fixed URI wins over a template that matches it", on: all },
  XH2: { about: "resources that a template lists are shown with what the template says of them", on: all },
  XH3: { about: "an error while reading or getting is masked, and the operator hears it", on: all },
  XH4: { about: "a cursor belongs to the list that gave it", on: all },
};
