import { revisions as all, between } from "../../kit/revisions.ts";
import { client, type Row } from "./row.ts";

/** Content, annotations, icons, JSON Schema, and members that an older revision must never see. */
export const rowsI: { readonly [row: string]: Row } = {
  I1: { about: "text, image and embedded resource blocks exist in every revision", on: all },
  I2: { about: "audio is its own block type, and an embedded resource in older revisions", on: all },
  I3: { about: "a resource link is its own block type, and a text in older revisions", on: all },
  I4: { about: "tool use and tool results exist only in sampling with tools", on: all },
  I5: { about: "content annotations are sent, lastModified where the revision has it", on: all },
  I6: { about: "the server, tools, resources, templates and prompts have icons", on: all },
  I7: {
    about: "the default is JSON Schema 2020-12; $schema may select draft-07; other dialects are refused by name",
    on: all,
  },
  I8: { about: "a schema with a reference to the network is refused, and nothing is fetched", on: all },
  I9: { about: "values nested too deeply are refused, and the server continues", on: all },
  XI1: {
    about: "the handshake with an older peer contains nothing of a later revision",
    on: between("2024-11-05", "2025-11-25"),
  },
  XI2: {
    about: "lists for an older peer contain nothing of a later revision",
    on: between("2024-11-05", "2025-11-25"),
  },
  XI3: {
    about: "results for an older peer contain nothing of a later revision",
    on: between("2024-11-05", "2025-11-25"),
  },
  XI4: {
    about: "notifications and errors to an older peer contain nothing of a later revision",
    on: between("2024-11-05", "2025-11-25"),
  },
  XI5: {
    about: "requests to an older peer contain nothing of a later revision",
    on: between("2024-11-05", "2025-11-25"),
  },
  XI6: { about: "unknown members are kept on every revision", on: all },
  XI7: { about: "icons are fetched and rendered with care", later: client },
};
