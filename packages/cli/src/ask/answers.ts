import type { HostAnswers } from "portolan-host";
import type { CommandContext } from "../command.ts";
import { QuestionDismissed } from "../terminal/input.ts";
import { askApproval, askOpenUrl, askRoots, askTrust } from "./consent.ts";
import { askForm } from "./form.ts";
import { askSampling } from "./sampling.ts";

/** Returns the answers of the person at the terminal. Without one, there are none, and the host denies. */
export function createAnswers(context: CommandContext): HostAnswers {
  const { screen, terminal } = context;
  if (!screen.isInteractive) return {};
  /** Queues a question. Dismissing it counts as the given answer. */
  const queued =
    <Q extends { readonly signal: AbortSignal }, A>(
      question: (context: CommandContext, asked: Q) => Promise<A>,
      left: (how: QuestionDismissed["how"]) => A,
    ) =>
    (asked: Q): Promise<A> =>
      terminal.ask(asked.signal, () =>
        question(context, asked).catch((reason: unknown) => {
          if (reason instanceof QuestionDismissed) return left(reason.how);
          if (asked.signal.aborted) terminal.say(`  ${screen.style("dim", "(question withdrawn)")}`);
          throw reason;
        }),
      );
  const no = () => ({ allow: false });
  return {
    trust: queued(askTrust, no),
    approve: queued(askApproval, no),
    elicit: queued(askForm, (how) => ({ action: how })),
    openUrl: queued(askOpenUrl, (how) => ({ action: how })),
    sample: queued(askSampling, no),
    roots: queued(askRoots, no),
  };
}
