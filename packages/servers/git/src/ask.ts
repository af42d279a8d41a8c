import { type Context, ToolError } from "portolan/server";

/**
 * Asks the user before something is lost. Where the client cannot ask, it is refused and the model is told what to do
 * instead; an operator who wants no questions says so at the start.
 */
export async function mayLose(ctx: Context, asks: boolean, question: string): Promise<boolean> {
  if (!asks) return true;
  if (ctx.mayAsk("elicitation.form")) return ctx.confirm("sure", question);
  throw new ToolError(
    "This client cannot ask the user, and nothing is lost without a yes; ask the user to do it, or to start the server with --no-questions",
  );
}
