import type { ApprovalQuestion, ApprovalVerdict, Caution } from "portolan-host";
import type { Context } from "../command.ts";
import { heading, warn } from "./heading.ts";

const whole = Symbol("the whole definition");

/** Asks whether something may be done: what exactly, and what speaks against it. */
export async function approve(context: Context, question: ApprovalQuestion): Promise<ApprovalVerdict> {
  const { screen, terminal } = context;
  const { server, action, reason, cautions, findings, resembles } = question;
  if (action.kind === "tool") {
    heading(context, server, `is to do ${screen.style("bold", screen.safe(action.tool))}`);
    const { title, description = title } = action.definition;
    if (description !== undefined) terminal.quote(description, 3);
    terminal.say(`  ${screen.style("dim", "with")}`);
    // The keys stay on the screen.
    terminal.bar(screen.json(action.args), Math.max(5, terminal.rows - 12), ": v shows them");
  } else {
    heading(context, server, "is to be read for the model:");
    terminal.quote(action.uri);
  }
  terminal.say(`  ${screen.style("dim", `${screen.safe(reason)}`)}`);
  for (const caution of cautions) warn(context, sentenceOf(caution));
  for (const { why, excerpt } of findings) warn(context, `${why}: ${excerpt}`);
  if (resembles !== undefined) warn(context, `it looks like ${resembles}, and is another`);
  for (;;) {
    const verdict = await terminal.choose<ApprovalVerdict | typeof whole>([
      { key: "y", label: "once", value: { allow: true } },
      { key: "s", label: "this session", value: { allow: true, for: "session" } },
      { key: "a", label: "always", value: { allow: true, for: "always" } },
      { key: "n", label: "no", value: { allow: false } },
      { key: "N", label: "never", value: { allow: false, for: "always" } },
      ...(action.kind === "tool" ? [{ key: "v", label: "view its definition", value: whole } as const] : []),
    ]);
    if (verdict !== whole) return verdict;
    if (action.kind !== "tool") continue;
    terminal.bar(screen.json(action.definition));
    terminal.say(`  ${screen.style("dim", "with")}`);
    terminal.bar(screen.json(action.args));
  }
}

function sentenceOf({ kind, from }: Caution): string {
  const who = from.join(", ");
  return kind === "untrusted-content"
    ? `what ${who} wrote may have led the model to this`
    : `data of ${who} may go along with it`;
}
