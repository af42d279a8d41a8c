import { revisions } from "../../kit/revisions.ts";
import type { Row } from "./row.ts";

/** Skills, on the server. Those of the client and the host are in `client/rows/skills.ts`. */
export const rowsSkills: { readonly [row: string]: Row } = {
  X100: { about: "what the server declares, it implements, whatever the client declared", on: revisions },
  X101: { about: "a skill is a directory with a SKILL.md that begins with name and description", on: revisions },
  X102: { about: "the directory of a skill has its name, and is addressed without a slash at the end", on: revisions },
  X103: { about: "the entry has the whole frontmatter, as JSON", on: revisions },
  X104: { about: "the entry lists every file once with digest and size, or is dynamic", on: revisions },
  X105: { about: "no skill with more than 512 files or 16 MiB is served", on: revisions },
  X106: { about: "skills/get answers for every skill, listed or not, and for nothing else", on: revisions },
  X107: { about: "cache hints stand on lists, entries and directories where the revision has them", on: revisions },
  X108: {
    about: "a directory read returns the direct children of a directory, and nothing for anything else",
    on: revisions,
  },
  X109: { about: "the resource of a SKILL.md has its media type, name and description", on: revisions },
  X110: { about: "a read returns the bytes of the digest, also while files change", on: revisions },
};
