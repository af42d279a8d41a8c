import type { Context } from "../command.ts";
import { interruption } from "../failure.ts";
import { Left } from "../terminal/input.ts";

/** Asks for what a command needs; whoever leaves wants none of it. */
export function inTurn<T>(
  { terminal, signal }: Pick<Context, "terminal" | "signal">,
  work: () => Promise<T>,
): Promise<T> {
  return terminal.ask(signal, work).catch((reason: unknown) => {
    if (reason instanceof Left) throw interruption();
    throw reason;
  });
}
