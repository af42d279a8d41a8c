import type { ApprovalQuestion, ApprovalVerdict, HostAnswers, HostQuestion, Verdict } from "portolan-host";
import type { CommandContext } from "../command.ts";
import { interruption } from "../failure.ts";
import { grantName } from "../output/grants.ts";
import { quote } from "../terminal/escape.ts";
import { QuestionDismissed } from "../terminal/input.ts";
import { askApproval, askOpenUrl, askRoots, askTrust, grantDays } from "./consent.ts";
import { askForm } from "./form.ts";
import { askSampling } from "./sampling.ts";

/** Options of `createAnswers`. */
export interface AnswersOptions {
  /** Returns the command that revokes a stored answer. Default: `portolan grants --revoke <name>`. */
  readonly revoke?: (name: string) => string;
  /** Returns why a flag does not cover a call that is asked about, and the command that changes it. */
  readonly uncovered?: (asked: ApprovalQuestion) => { readonly message: string; readonly next: string } | undefined;
  /** Gets the ids of the calls that the person allows. */
  readonly approvedCalls?: Set<string>;
  /** Is called when the person leaves a question with Ctrl-C. */
  readonly cancelled?: () => void;
  /** Ends the command. Is called when the person leaves a question with Ctrl-C. */
  readonly interrupted?: () => void;
  /** Is called when the person refuses a question, with how they left it. */
  readonly refused?: (how: QuestionDismissed["how"]) => void;
}

/** Returns the answers of the person at the terminal. Without one, there are none, and the host denies. */
export function createAnswers(context: CommandContext, options: AnswersOptions = {}): HostAnswers {
  const { screen, terminal } = context;
  const {
    revoke = (name) => `portolan grants --revoke ${quote(name)}`,
    approvedCalls,
    cancelled,
    interrupted,
    refused,
  } = options;
  if (!screen.isInteractive) return {};
  /** Queues a question. Dismissing it counts as the given answer. An answer that is stored says how to undo it. */
  const queued =
    <Q extends HostQuestion, A extends object>(
      question: (context: CommandContext, asked: Q) => Promise<A>,
      left: (how: QuestionDismissed["how"]) => A,
    ) =>
    (asked: Q): Promise<A> =>
      terminal.ask(asked.signal, async () => {
        try {
          const answer = await question(context, asked);
          if (isRefusal(answer)) refused?.("action" in answer && answer.action === "cancel" ? "cancel" : "decline");
          if (isStored(answer)) sayHowToUndo(asked, answer.allow);
          return answer;
        } catch (reason) {
          if (reason instanceof QuestionDismissed) {
            refused?.(reason.how);
            if (reason.how === "cancel") cancelled?.();
            if (reason.how === "cancel") interrupted?.();
            return left(reason.how);
          }
          if (asked.signal.aborted) terminal.say(`  ${screen.style("dim", "(question withdrawn)")}`);
          throw reason;
        }
      });
  const sayHowToUndo = (asked: HostQuestion, allow: boolean) => {
    const until = new Date(Date.now() + grantDays * 24 * 60 * 60 * 1_000).toISOString().slice(0, 10);
    terminal.say(`  ${screen.style("dim", `${allow ? "allowed" : "denied"} until ${until}; to undo it:`)}`);
    for (const step of undoSteps(asked, revoke)) terminal.say(`  ${screen.mark("next")} ${screen.step(step)}`);
  };
  const no = () => ({ allow: false });
  /** Tools and resources that the person has allowed for longer than once. */
  const allowed = new Set<string>();
  return {
    trust: queued(askTrust, (how) => {
      // Without a server there is nothing left to do, but in a chat.
      if (how === "cancel" && !cancelled) throw interruption();
      return no();
    }),
    approve: queued<ApprovalQuestion, ApprovalVerdict>(async (_, asked) => {
      const name = `${asked.server}.${asked.action.kind === "tool" ? asked.action.tool : asked.action.uri}`;
      const why = options.uncovered?.(asked);
      if (why) terminal.say(`${screen.safe(why.message)}\n  ${screen.mark("next")} ${screen.step(why.next)}`);
      const verdict = await askApproval(context, asked, { wasAllowed: allowed.has(name) });
      if (verdict.allow && asked.callId !== undefined) approvedCalls?.add(asked.callId);
      if (verdict.allow && verdict.for !== undefined && verdict.for !== "once") allowed.add(name);
      return verdict;
    }, no),
    elicit: queued(askForm, (how) => ({ action: how })),
    openUrl: queued(askOpenUrl, (how) => ({ action: how })),
    sample: queued(askSampling, no),
    roots: queued(askRoots, no),
  };
}

/** True for an answer that gives the server nothing. */
function isRefusal(answer: object): boolean {
  return ("allow" in answer && answer.allow === false) || ("action" in answer && answer.action !== "accept");
}

/** True for an answer that the host keeps for later sessions. */
function isStored(answer: object): answer is Verdict {
  return "for" in answer && answer.for === "always";
}

/** Returns the commands that undo an answer which is stored. */
function undoSteps(asked: HostQuestion, revoke: (name: string) => string): string[] {
  const { server } = asked;
  if (asked.kind === "trust") return [`portolan trust ${quote(server)} --revoke`];
  const subjects =
    asked.kind === "roots"
      ? asked.roots.map(({ uri }) => uri)
      : asked.kind === "approve"
        ? [asked.action.kind === "tool" ? asked.action.tool : asked.action.uri]
        : [""];
  const kind = asked.kind === "sample" ? "sampling" : "tool";
  return subjects.map((subject) => revoke(grantName({ server, subject, kind })));
}
