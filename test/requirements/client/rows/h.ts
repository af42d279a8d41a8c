import { revisions as all, stateless } from "../../../kit/revisions.ts";
import type { Row } from "../../rows/row.ts";

/** Resources, prompts, completion. */
export const rowsH: { readonly [row: string]: Row } = {
  "C-H1": { about: "a resource is listed with all its members", on: all },
  "C-H2": { about: "templates are listed in pages", on: all },
  "C-H3": { about: "a read returns all texts and blobs", on: all },
  "C-H4": { about: "a watched resource is subscribed to until the last watch ends", on: all },
  "C-H5": { about: "a missing resource is an error that names it", on: all },
  "C-H6": { about: "any URI can be read and is sent unchanged", on: all },
  "C-H7": { about: "URIs are checked", untestable: "a duty of servers" },
  "C-H8": { about: "resources/read may first send requests to the client", on: stateless },
  "C-H9": { about: "a prompt is listed with all its members", on: all },
  "C-H10": { about: "values of prompt arguments are strings", on: all },
  "C-H11": { about: "prompt messages keep their content", on: all },
  "C-H12": { about: "an unknown prompt and a missing argument are errors", on: all },
  "C-H13": { about: "prompts/get may first send requests to the client", on: stateless },
  "C-H14": { about: "completion sends the members of the revision and returns values, total and hasMore", on: all },
  "C-H15": { about: "completion is limited and discloses nothing", untestable: "a duty of servers" },
};
