import { revisions } from "../../../kit/revisions.ts";
import type { Row } from "../../rows/row.ts";

/** Skills, in the client. The rows that only a host can fulfil are in `test/host`. */
export const rowsSkills: { readonly [row: string]: Row } = {
  "C-X112": { about: "nothing is read before it is needed, and no scheme makes a skill", on: revisions },
  "C-X113": { about: "a skill of which only the URI is known is got first", on: revisions },
  "C-X114": { about: "every read is verified, and an unlisted file is not read", on: revisions },
  "C-X115": { about: "the frontmatter of the file must be that of the entry", on: revisions },
  "C-X116": { about: "the entry is held, and a directory read does not extend it", on: revisions },
  "C-X118": { about: "an entry without valid resources is not loaded; 512 files and 16 MiB are", on: revisions },
  "C-X127": { about: "nothing is resolved over a network because of a URI", on: revisions },
};
