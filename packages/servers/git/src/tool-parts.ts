import { type Context, type JsonSchema, ToolError } from "portolan/server";
import { boolean, string } from "portolan-server-kit";
import type { Repositories } from "./repository/repositories.ts";

/** Returns the input schema of a tool; adds `repository` if there are several. */
export function input(
  git: Repositories,
  properties: { [name: string]: JsonSchema },
  required: readonly string[] = [],
): JsonSchema {
  const repository = string("Repository to use", { enum: [...git.names] });
  return {
    type: "object",
    properties: { ...properties, ...(git.names.length > 1 && { repository }) },
    required: git.names.length > 1 ? ["repository", ...required] : [...required],
    additionalProperties: false,
  };
}

export const commit: JsonSchema = string("Full hash of a commit");
export const path: JsonSchema = string("Path relative to the repository's folder, with slashes");
export const revision: JsonSchema = string("A branch, tag or commit hash, optionally followed by ~2 or ^", {
  minLength: 1,
  maxLength: 1_000,
});
export const isCut: JsonSchema = boolean("True if the result was cut at a limit; request less to see the rest");

/**
 * Asks the user before data is lost. Throws a ToolError with advice if the client cannot ask; operators can turn the
 * questions off with --no-questions.
 */
export async function confirmLoss(ctx: Context, ask: boolean, question: string): Promise<boolean> {
  if (!ask) return true;
  if (ctx.mayAsk("elicitation.form")) return ctx.confirm("sure", question);
  throw new ToolError(
    "This client cannot ask the user, and this needs the user's consent; ask the user to do it, or to start the server with --no-questions",
  );
}
