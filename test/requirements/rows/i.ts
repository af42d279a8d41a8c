import { revisions as all, between } from "../../kit/revisions.ts";
import { client, type Row } from "./row.ts";

/** Content, annotations, icons, JSON Schema, and what an older revision must never see. */
export const rowsI: { readonly [row: string]: Row } = {
  I1: { about: "text, image and embedded resource blocks exist everywhere", on: all },
  I2: { about: "audio is a block of its own, and an embedded file before it existed", on: all },
  I3: { about: "a resource link is a block of its own, and a text before it existed", on: all },
  I4: { about: "tool use and tool results stand in sampling only, where it has tools", on: all },
  I5: { about: "content annotations arrive, the date of change where the revision has it", on: all },
  I6: { about: "icons stand on the server, tools, resources, templates and prompts", on: all },
  I7: { about: "JSON Schema 2020-12 unless $schema says draft-07; other dialects are refused by name", on: all },
  I8: { about: "a reference to the network is never fetched: the schema is refused", on: all },
  I9: { about: "what is nested too deep is refused, and the server lives on", on: all },
  XI1: {
    about: "nothing of a later revision is in what an older peer sees of the server",
    on: between("2024-11-05", "2025-11-25"),
  },
  XI2: {
    about: "nothing of a later revision is in the lists of an older peer",
    on: between("2024-11-05", "2025-11-25"),
  },
  XI3: {
    about: "nothing of a later revision is in the results of an older peer",
    on: between("2024-11-05", "2025-11-25"),
  },
  XI4: {
    about: "nothing of a later revision is in notifications and errors to an older peer",
    on: between("2024-11-05", "2025-11-25"),
  },
  XI5: {
    about: "an older peer is never asked in the way of a later revision",
    on: between("2024-11-05", "2025-11-25"),
  },
  XI6: { about: "members that nobody knows are kept on every revision", on: all },
  XI7: { about: "icons are fetched and drawn with care", later: client },
};
