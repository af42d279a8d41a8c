import { revisions } from "../../kit/revisions.ts";
import type { Row } from "./row.ts";

const stateless = ["2026-07-28"] as const;
const stateful = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] as const;

/** The frame of all extensions, on the server. */
export const rowsExtensions: { readonly [row: string]: Row } = {
  X1: { about: "an id is a prefix, a slash and a name, in the words of the keys of _meta", on: revisions },
  X2: { about: "capabilities.extensions maps ids to settings, which stand directly under the id", on: revisions },
  X3: {
    about: "server/discover announces extensions, and only the declaration of the present request counts",
    on: stateless,
  },
  X4: { about: "the handshake announces extensions, and its declaration counts for the session", on: stateful },
  X5: { about: "a client that lacks an extension gets the plain protocol, or a refusal that names it", on: revisions },
  X6: { about: "a server that is not extended announces no extension and knows no method of one", on: revisions },
  X7: { about: "unknown members of settings are ignored", on: revisions },
  X8: { about: "open parts are for every client, the others for those that declare the extension", on: revisions },
};
