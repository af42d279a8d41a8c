import { revisions as all, between } from "../../../kit/revisions.ts";
import { host, type Row } from "../../rows/row.ts";

const withOutput = between("2025-06-18", "2026-07-28");

/** Content, annotations, icons, JSON Schema. */
export const rowsI: { readonly [row: string]: Row } = {
  "C-I1": { about: "text, image and embedded resource blocks arrive as sent", on: all },
  "C-I2": { about: "audio arrives as sent, and is sent where it exists", on: all },
  "C-I3": { about: "resource links arrive as sent", on: between("2025-06-18", "2026-07-28") },
  "C-I4": { about: "tool use and tool results stand in sampling only, where it has tools", on: all },
  "C-I5": { about: "content annotations arrive as sent", on: all },
  "C-I6": { about: "icons arrive wherever they stand, and are sent where they exist", on: all },
  "C-I7": {
    about: "JSON Schema 2020-12 unless $schema says draft-07; other dialects are refused by name",
    on: withOutput,
  },
  "C-I8": { about: "a reference to the network is never fetched", on: all },
  "C-I9": { about: "what is nested too deep fails its own call, and the client lives on", on: withOutput },
  "C-XI1": { about: "nothing of a later revision is sent to an older server", on: between("2024-11-05", "2025-11-25") },
  "C-XI7": { about: "icons are fetched and drawn with care", later: host },
};
