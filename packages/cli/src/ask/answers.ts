import type { HostAnswers } from "portolan-host";
import type { Context } from "../command.ts";
import { Left } from "../terminal/input.ts";
import { approve, askRoots, askTrust, visit } from "./consent.ts";
import { fillForm } from "./form.ts";
import { reviewSampling } from "./sampling.ts";

/** How the person at the terminal is asked; where nobody can answer, nothing is offered and nothing is allowed. */
export function createAnswers(context: Context): HostAnswers {
  const { screen, terminal } = context;
  if (!screen.isInteractive) return {};
  /** Asks when it is its turn; who leaves the question has said so. */
  const inTurn =
    <Q extends { readonly signal: AbortSignal }, A>(
      question: (context: Context, asked: Q) => Promise<A>,
      left: (how: Left["how"]) => A,
    ) =>
    (asked: Q): Promise<A> =>
      terminal.ask(asked.signal, () =>
        question(context, asked).catch((reason: unknown) => {
          if (reason instanceof Left) return left(reason.how);
          if (asked.signal.aborted) terminal.say(`  ${screen.style("dim", "(no longer asked)")}`);
          throw reason;
        }),
      );
  const no = () => ({ allow: false });
  return {
    trust: inTurn(askTrust, no),
    approve: inTurn(approve, no),
    elicit: inTurn(fillForm, (how) => ({ action: how })),
    openUrl: inTurn(visit, (how) => ({ action: how })),
    sample: inTurn(reviewSampling, no),
    roots: inTurn(askRoots, no),
  };
}
