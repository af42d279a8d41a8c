import { revisions } from "../../../kit/revisions.ts";
import type { Row } from "../../rows/row.ts";

const stateful = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] as const;

/** The frame of all extensions. Declarations per request and opting in are in `x.ts`, with tasks. */
export const rowsExtensions: { readonly [row: string]: Row } = {
  "C-X1": { about: "an id is a prefix, a slash and a name, in the words of the keys of _meta", on: revisions },
  "C-X2": { about: "capabilities.extensions maps ids to settings, which stand directly under the id", on: revisions },
  "C-X4": { about: "the handshake declares extensions", on: stateful },
  "C-X5": {
    about: "a server that lacks an extension is spoken to plainly, and its refusal names the extension",
    on: revisions,
  },
  "C-X7": { about: "unknown members of settings are ignored", on: revisions },
};
