import type { Context } from "../command.ts";
import { Left } from "../terminal/input.ts";

/** Asks the person at the terminal for a yes; everything else, and whoever leaves, is a no. */
export function confirm({ screen, terminal, signal }: Context, question: string): Promise<boolean> {
  const answered = terminal.ask(signal, async () => {
    terminal.say(`${screen.style("yellow", screen.mark("ask"))} ${question}`);
    return terminal.choose([
      { key: "y", label: "yes", value: true },
      { key: "n", label: "no", value: false },
    ]);
  });
  return answered.catch((reason: unknown) => {
    if (reason instanceof Left) return false;
    throw reason;
  });
}
