import { type Context, ToolError } from "portolan/server";
import type { Statement } from "./database.ts";

/** What a user can be expected to read before saying yes. */
const maxShown = 8_000;

/** Asks the user before a statement changes something; where the client cannot ask, it is refused. */
export async function mayRun(ctx: Context, asks: boolean, about: string, statement: Statement): Promise<boolean> {
  if (!asks) return true;
  if (!ctx.mayAsk("elicitation.form")) {
    throw new ToolError(
      "This client cannot ask the user, and nothing is changed without a yes; ask the user to run the statement, or to start the server with --yes",
    );
  }
  const { sql, parameters } = statement;
  const values = parameters === undefined ? "" : `\n\nwith the values ${JSON.stringify(parameters)}`;
  const shown = visible(`${sql.trim()}${values}`);
  if (shown.length > maxShown) {
    throw new ToolError(
      `The statement is too long for the user to read before saying yes; split it into parts of less than ${maxShown} characters`,
    );
  }
  return ctx.confirm("run", `Run this statement on ${about}?\n\n${shown}`);
}

/** Characters that hide or reorder what stands beside them are written out. */
function visible(text: string): string {
  return text.replace(/[^\P{C}\n\t]/gu, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`);
}
