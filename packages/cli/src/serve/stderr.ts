import type { Context } from "../command.ts";

/** Hands on what a server writes to its standard error: to a terminal with all that could hide made visible. */
export function passOn({ world, screen }: Pick<Context, "world" | "screen">): (line: string) => void {
  const { stderr } = world;
  return (line) => void stderr.write(`${stderr.isTTY ? screen.safe(line) : line}\n`);
}
