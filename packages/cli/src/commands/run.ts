import { text } from "node:stream/consumers";
import type { Host, RefusalReason, ServerEntry } from "portolan-host";
import { againWith, countFlag } from "../arguments/flags.ts";
import { createAnswers } from "../ask/answers.ts";
import { untrustedLabel } from "../chat/labels.ts";
import {
  findServers,
  modelHint,
  modelLabel,
  policyOf,
  refuseWithoutTerminal,
  requireNamed,
  requireUnrefused,
  runFailure,
  showRun,
  type ToolAnswer,
  withoutNotice,
} from "../chat/model-run.ts";
import type { CommandContext, CommandResult, Flags } from "../command.ts";
import { Failure, interruption, withoutOptionNames } from "../failure.ts";
import { findModels, showRetries } from "../models.ts";
import { changesStep } from "../servers/explain.ts";
import { lookCommand } from "../servers/find-server.ts";
import { rootsOf, withHost } from "../servers/host.ts";
import { wrap } from "../terminal/wrap.ts";

/** Lets a model work on one task with servers. */
export async function run(
  context: CommandContext,
  args: readonly string[],
  flags: Flags,
): Promise<CommandResult | undefined> {
  const { system, screen, signal, isJson } = context;
  const isTextOnly = flags["text"] === true;
  const [model, ...others] = await findModels(system, flags, showRetries(context));
  const maxTurns = countFlag(flags, "maxTurns");
  const policy = policyOf(flags);
  const task = await readTask(context, args);
  const servers = await findServers(context, flags);
  context.note(screen.safe(modelLabel(model)));
  const hint = modelHint(model);
  for (const line of hint === undefined ? [] : wrap(hint, screen.columns)) context.note(screen.style("dim", line));
  // A screen has introduced the model, JSON gets its notice as an event.
  const models = [isJson ? model : withoutNotice(model), ...others];
  const refused = new Set<string>();
  const approvedCalls = new Set<string>();
  // Ctrl-C at a question ends the run, as it does everywhere else.
  const left = new AbortController();
  let hosted: Host | undefined;
  return withHost(
    context,
    servers,
    async (host) => {
      hosted = host;
      // A task for one server makes no sense without it.
      await requireNamed(context, host, servers, flags);
      const ended = AbortSignal.any([signal, left.signal]);
      const running = host.run(task, { signal: ended, ...(maxTurns !== undefined && { maxTurns }) });
      const calls = new CallOutcomes();
      const done = await showRun(context, running, {
        ...{ host, servers, isTextOnly, repeatsResults: model.repeatsResults, approvedCalls },
        answered: (answer, call) => calls.add(answer, call),
      });
      const failure = runFailure(done, {
        "max-turns": againWith(system, "--max-turns", String(2 * (maxTurns ?? 20))),
        "max-calls": "split the task into smaller ones",
        "max-tokens": "ask for a shorter answer",
        context: "split the task into smaller ones",
        refusal: "put the task in other words",
      });
      if (failure !== undefined) throw failure;
      // The answer is useful although something was refused.
      if (isTextOnly) context.print(screen.isTerminal ? screen.safe(done.text, { lines: "keep" }) : done.text);
      requireUnrefused(context, host, flags, refused);
      const undone = calls.failure(context, servers);
      if (undone) throw undone;
      return undefined;
    },
    {
      model: models,
      policy,
      answers: {
        ...createAnswers(context, {
          approvedCalls,
          interrupted: () => left.abort(interruption()),
          uncovered: ({ server, action }) =>
            hosted && action.kind === "tool" ? untrustedLabel(hosted, flags, server, action.tool) : undefined,
        }),
        ...refuseWithoutTerminal(context, refused),
      },
      tasks: { resume: "wait" },
      ...rootsOf(context, flags),
    },
  );
}

/** Notes how the calls of a run ended. */
class CallOutcomes {
  /** Calls that a rule, the person or a changed definition refused. `requireUnrefused` reports the others. */
  readonly #refused = new Map<
    string,
    { readonly server: string; readonly why: string; readonly reason: RefusalReason }
  >();
  readonly #failed: { readonly server: string; readonly tool: string; readonly why: string }[] = [];
  #succeeded = 0;

  add(answer: ToolAnswer, call: { readonly server: string; readonly tool: string } | undefined): void {
    if (!call) return;
    const { result, refusal = "", refusalReason: reason } = answer;
    const { isError, content } = result;
    if (!isError) {
      this.#succeeded += 1;
      return;
    }
    const { server, tool } = call;
    if (reason === undefined) {
      const why = content.map((block) => (block.type === "text" ? block.text : "")).join(" ");
      this.#failed.push({ server, tool, why });
    } else if (reason !== "nobody-to-ask") {
      this.#refused.set(`${server}.${tool}`, { server, why: withoutOptionNames(refusal), reason });
    }
  }

  /** Returns why nothing was done, if no call succeeded. */
  failure(context: CommandContext, servers: readonly ServerEntry[]): Failure | undefined {
    if (this.#succeeded > 0) return undefined;
    const last = this.#failed.at(-1);
    if (last) {
      const entry = servers.find(({ name }) => name === last.server);
      const [line = ""] = withoutOptionNames(last.why).split("\n");
      const message = line.startsWith(`${last.server}.${last.tool} `)
        ? line
        : `${last.server}.${last.tool} failed: ${line}`;
      return new Failure("tool", message, { next: entry && lookCommand(entry, last.tool, context) });
    }
    const [first] = this.#refused.values();
    if (!first) return undefined;
    const lines = [...this.#refused].map(([name, { why }]) => `${name} ${why}`);
    return new Failure("denied", lines.join("\n"), { next: stepAfter(first.reason, first.server) });
  }
}

/** Returns what can be done about a refusal. */
function stepAfter(reason: RefusalReason, server: string): string {
  if (reason === "definition-changed") return changesStep(server);
  if (reason === "user") return "run it again and allow the call, or put the task in other words";
  return reason === "rule" ? "leave out --deny, or put the task in other words" : "put the task in other words";
}

/** Returns the task: the words of the command line, with standard input in place of `-`, or standard input alone. */
async function readTask({ system }: CommandContext, args: readonly string[]): Promise<string> {
  const words = args.length === 0 && !system.stdin.isTTY ? ["-"] : args;
  const read = words.includes("-") ? (await text(system.stdin)).trim() : "";
  const task = words.map((word) => (word === "-" ? read : word)).join(" ");
  if (task.trim() !== "") return task;
  throw new Failure("usage", "no task given; expected it as an argument, or on standard input", {
    next: 'portolan run "what can you do?"',
  });
}
