import { type Context, type JsonSchema, ToolError } from "portolan/server";
import { boolean, string } from "portolan-server-kit";
import type { Git } from "./repository/repositories.ts";

/** The arguments of a tool: those named, and which repository is meant if there are several. */
export function input(
  git: Git,
  properties: { [name: string]: JsonSchema },
  required: readonly string[] = [],
): JsonSchema {
  const repository = string("Which repository", { enum: [...git.names] });
  return {
    type: "object",
    properties: { ...properties, ...(git.names.length > 1 && { repository }) },
    required: git.names.length > 1 ? ["repository", ...required] : [...required],
    additionalProperties: false,
  };
}

/** The hash of a commit. */
export const commit: JsonSchema = string("The full hash of a commit");
/** A file or folder. */
export const path: JsonSchema = string("Relative to the repository's folder, with slashes");
/** What names a commit. */
export const revision: JsonSchema = string("A branch, tag or commit hash, perhaps with ~2 or ^ behind it", {
  minLength: 1,
  maxLength: 1_000,
});
/** Whether there was more. */
export const isCut: JsonSchema = boolean("There was more than the limits allow; ask for less to see the rest");

/**
 * Asks the user before something is lost. Where the client cannot ask, it is refused and the model is told what to do
 * instead; an operator who wants no questions says so at the start.
 */
export async function mayLose(ctx: Context, ask: boolean, question: string): Promise<boolean> {
  if (!ask) return true;
  if (ctx.mayAsk("elicitation.form")) return ctx.confirm("sure", question);
  throw new ToolError(
    "This client cannot ask the user, and nothing is lost without a yes; ask the user to do it, or to start the server with --no-questions",
  );
}
