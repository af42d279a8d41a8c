import { between, type RevisionDate, revisions, stateful, stateless, type Transport } from "../kit/revisions.ts";

/** A row of the requirements: where it holds, or why no test here covers it. */
export type Row =
  | { about: string; on: readonly RevisionDate[]; over?: readonly Transport[] }
  | { about: string; untestable: string }
  | { about: string; later: string };

const all = revisions;
const client = "the client";
const http = "Streamable HTTP";
const tasks = "the tasks extension";

/** Every requirement on a server over stdio or memory, by the row numbers of the requirements matrix. */
export const manifest: { readonly [row: string]: Row } = {
  A1: { about: "messages are JSON-RPC 2.0; a stateless server sends no requests", on: all },
};

export { client, http, tasks, between, stateful, stateless };
