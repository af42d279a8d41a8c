import type { Row } from "../../../requirements/rows/row.ts";

const core = ["2025-11-25"] as const;
const extension = ["2026-07-28"] as const;
const both = ["2025-11-25", "2026-07-28"] as const;

/** Tasks, where callers or headers matter. The other rows are in `test/requirements/rows/tasks.ts`. */
export const rowsTasks: { readonly [row: string]: Row } = {
  X21: { about: "tasks/get is not answered with a stream", on: core },
  X26: { about: "tasks are bound to their principal, and nobody else can tell that they exist", on: both },
  X29: { about: "tasks of a caller are limited", on: extension },
  X56: { about: "Mcp-Name repeats the id", on: extension },
  X58: { about: "listeners get their own tasks alone", on: extension },
  X63: { about: "older tasks are open to clients without the extension", on: extension },
};
