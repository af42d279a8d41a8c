import type { Row } from "../rows/row.ts";

const both = ["2025-11-25", "2026-07-28"] as const;

/** The requirements on skills that only a host can fulfil. The others are in `client/rows/skills.ts`. */
export const rowsSkills: { readonly [row: string]: Row } = {
  X111: { about: "a skill is known by the host's name of its server and its URI", on: both },
  X117: { about: "a stored approval is bound to all files, and covers no dynamic skill", on: both },
  X119: { about: "the content of a skill is untrusted, and marked with its server", on: both },
  X120: { about: "nothing runs because of a skill without the user's approval", on: both },
  X121: { about: "allowed-tools and its like permit nothing", on: both },
  X122: { about: "a skill of one server causes no read from another one without a question that names both", on: both },
  X123: { about: "names are labels: they are resolved per server, and collisions are shown", on: both },
  X124: { about: "a nested skill needs its own consent", on: both },
  X125: { about: "a plain read of a SKILL.md loads nothing", on: both },
  X126: { about: "nothing of a skill is kept on disk but digests", on: both },
};
