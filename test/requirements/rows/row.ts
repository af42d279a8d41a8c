import type { RevisionDate, Transport } from "../../kit/revisions.ts";

/** A row of the requirements: the scopes it applies to, or the reason why no test here covers it. */
export type Row =
  | {
      about: string;
      on: readonly RevisionDate[];
      over?: readonly Transport[];
      /** The part of the requirement that is not fulfilled. */
      lacks?: string;
    }
  | { about: string; untestable: string }
  | { about: string; later: string };

export const client = "the client";
export const server = "the server";
export const http = "Streamable HTTP";
export const tasks = "the tasks extension";
export const host = "the host";
