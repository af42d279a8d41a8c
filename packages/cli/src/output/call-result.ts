import type { CallToolResult } from "portolan";
import type { ServerEntry } from "portolan-host";
import type { CommandContext, CommandResult, Flags } from "../command.ts";
import { Failure } from "../failure.ts";
import { findWithheld } from "../servers/withheld.ts";
import { saveContent, showResult, textOfResult, withoutServerInfo } from "./content.ts";

/** A call whose result is shown. */
export interface FinishedCall {
  readonly entry: ServerEntry;
  readonly tool: string;
  /** The next step if the tool failed. */
  readonly next: string;
  readonly flags: Flags;
  /** True if the person refused a question of the call. */
  readonly wasRefused?: boolean;
}

/** Returns the output for the result of a tool, with its files saved if `--save` says so. Throws if the tool failed. */
export async function presentResult(
  context: CommandContext,
  result: CallToolResult,
  { entry, tool, next, flags, wasRefused }: FinishedCall,
): Promise<CommandResult> {
  const { screen } = context;
  const saved = typeof flags["save"] === "string" ? await saveContent(result.content, flags["save"]) : [];
  const { content, structuredContent, _meta, isError } = withoutServerInfo(result);
  const value = {
    content,
    ...(structuredContent !== undefined && { structuredContent }),
    ...(isError && { isError }),
    ...(_meta !== undefined && { _meta }),
    ...(saved.length > 0 && { saved }),
  };
  if (isError) {
    // Programs need the whole result; the message has only its text.
    if (context.isJson) context.print(JSON.stringify(value));
    const message = result.content.map((block) => (block.type === "text" ? block.text : `[${block.type}]`)).join("\n");
    const withheld = await findWithheld(context, entry, message);
    const lines = [message || `${tool} failed`, ...(withheld ? [withheld.sentence] : [])];
    // The person knows why, and how to answer otherwise.
    if (wasRefused) throw new Failure("denied", lines.join("\n"));
    throw new Failure("tool", lines.join("\n"), { next: withheld?.next ?? next });
  }
  return {
    value,
    plain: () => textOfResult(result, context),
    text: () =>
      [
        showResult(result, screen, saved.length > 0 ? "" : undefined),
        ...saved.map((path) => screen.style("dim", `saved ${path}`)),
      ].join("\n"),
  };
}
