import type { Context } from "../command.ts";

/** The first line of a question: which server it is about, and what is asked. */
export function heading({ screen, terminal }: Context, server: string, what: string): void {
  terminal.say();
  terminal.say(`${screen.style("yellow", screen.mark("ask"))} ${screen.style("bold", screen.safe(server))} ${what}`);
}

/** Something to look at twice. */
export function warn({ screen, terminal }: Context, what: string): void {
  terminal.say(`  ${screen.style("red", screen.mark("warn"))} ${screen.safe(what)}`);
}
