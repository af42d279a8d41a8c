import type { Row } from "../rows/row.ts";

const both = ["2025-11-25", "2026-07-28"] as const;

/** The requirements of extensions on a host. */
export const manifest: { readonly [row: string]: Row } = {
  X6: { about: "a host that was not told to use tasks declares and sends nothing of them", on: both },
  X54: { about: "the ids of tasks outlive the process", on: both },
  X55: { about: "a question of a task is asked like any other: same consent, same limits, each key once", on: both },
  X61: { about: "what a task asks is no more trusted than a direct question", on: both },
};
