import { revisions as all, between } from "../../../kit/revisions.ts";
import { host, type Row } from "../../rows/row.ts";

const withOutput = between("2025-06-18", "2026-07-28");

/** Content, annotations, icons, JSON Schema. */
export const rowsI: { readonly [row: string]: Row } = {
  "C-I1": { about: "text, image and embedded resource blocks arrive as sent", on: all },
  "C-I2": { about: "audio arrives as sent, and is sent in revisions that have it", on: all },
  "C-I3": { about: "resource links arrive as sent", on: between("2025-06-18", "2026-07-28") },
  "C-I4": { about: "tool use and tool results exist only in sampling with tools", on: all },
  "C-I5": { about: "content annotations arrive as sent", on: all },
  "C-I6": { about: "icons arrive in every place, and are sent in revisions that have them", on: all },
  "C-I7": {
    about: "the default is JSON Schema 2020-12; $schema may select draft-07; other dialects are refused by name",
    on: withOutput,
  },
  "C-I8": { about: "a reference to the network is never fetched", on: all },
  "C-I9": { about: "a value nested too deeply fails only its own call", on: withOutput },
  "C-XI1": { about: "nothing of a later revision is sent to an older server", on: between("2024-11-05", "2025-11-25") },
  "C-XI7": { about: "icons are fetched and rendered with care", later: host },
};
