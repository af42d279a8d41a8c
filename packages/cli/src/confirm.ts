import { createInterface } from "node:readline";
import type { Context } from "./command.ts";

/** Asks the person at the terminal for a yes; everything else, and Ctrl-C, is a no. */
export function confirm({ world, screen, signal }: Context, question: string): Promise<boolean> {
  const { stdin, stderr } = world;
  const reader = createInterface({ input: stdin, output: stderr });
  return new Promise((resolve) => {
    const settle = (isYes: boolean) => {
      signal.removeEventListener("abort", refuse);
      resolve(isYes);
      reader.close();
    };
    const refuse = () => settle(false);
    signal.addEventListener("abort", refuse, { once: true });
    // The reader takes Ctrl-C for itself.
    reader.once("SIGINT", refuse).once("close", refuse);
    const asked = `${screen.mark("ask")} ${question} ${screen.style("dim", "yes (y), no (n)")} `;
    reader.question(asked, (answer) => settle(/^y(es)?$/i.test(answer.trim())));
  });
}
