import type { Revision } from "./revision.ts";

/** The id of the tasks extension. */
export const tasksId = "io.modelcontextprotocol/tasks";

/** How a revision has tasks: in its core, as an experiment, or by the extension. */
export type TaskDialect = "core" | "extension";

/** Returns how a revision has tasks; undefined if it has none. */
export function taskDialectOf({ encoderParts: { traits, hidden } }: Revision): TaskDialect | undefined {
  if (!traits.refusedExtensions.includes(tasksId)) return "extension";
  return hidden.get("clientCapabilities")?.includes("tasks") ? undefined : "core";
}
