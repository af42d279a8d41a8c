import type { ElicitResult, JsonObject } from "portolan";
import { PortolanError } from "portolan";
import { checkFormAnswer } from "portolan/client";
import type { FormQuestion, Host, HostAnswers, HostQuestion, HostTask, ServerEntry } from "portolan-host";
import { textFlag } from "../arguments/flags.ts";
import { nearest } from "../arguments/nearest.ts";
import type { CommandContext, CommandResult, Flags } from "../command.ts";
import { Failure, interruption } from "../failure.ts";
import { modelFor } from "../models.ts";
import { presentResult } from "../output/call-result.ts";
import {
  answerStep,
  goesOn,
  messageOf,
  questionValue,
  tasksTable,
  taskText,
  taskValue,
  waitStep,
} from "../output/tasks.ts";
import { lookCommand } from "../servers/find-server.ts";
import { withHost } from "../servers/host.ts";
import { driveTask } from "../tasks/drive-task.ts";
import { nextQuestion, unanswered } from "../tasks/task-questions.ts";
import { findTaskServer, forgetTarget } from "../tasks/task-targets.ts";

type Action = (context: CommandContext, task: HostTask, flags: Flags) => Promise<CommandResult>;

const actions: { readonly [action: string]: Action } = { show, wait, cancel, answer };

/** The actions on tasks, for completion. */
export const actionNames: readonly string[] = ["ls", ...Object.keys(actions)];

/** Fewer characters of an id could be a typing mistake. */
const minIdLength = 3;
/** A server that says that it asks something sends the question within this time. */
const questionMs = 3_000;

/** Lists tasks, or does something with one. */
export async function run(context: CommandContext, args: readonly string[], flags: Flags): Promise<CommandResult> {
  const [name = "ls", id] = args;
  const tasks = await listTasks(context);
  if (name === "ls") {
    const text = () => (tasks.length === 0 ? "No tasks." : tasksTable(tasks, context.screen));
    return { value: { tasks: tasks.map(taskValue) }, text };
  }
  const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
  if (!action) {
    const [near] = nearest(name, actionNames);
    const what = near === undefined ? `expected one of ${actionNames.join(", ")}` : `did you mean ${near}?`;
    throw new Failure("usage", `tasks: there is no action ${JSON.stringify(name)}; ${what}`);
  }
  const task = findTask(tasks, id, name);
  try {
    return await action(context, task, flags);
  } catch (reason) {
    if (!(reason instanceof PortolanError) || reason.code !== "task-lost") throw reason;
    await forgetTarget(context, task);
    const what = `${task.server} does not know task ${task.id} any more`;
    throw new Failure("failed", what, { next: "portolan tasks", cause: reason });
  }
}

/** Returns the tasks that are stored. Contacts no server. */
export function listTasks(context: CommandContext): Promise<readonly HostTask[]> {
  return withHost(context, [], async (host) => host.tasks.list(), { isQuiet: true, tasks: { resume: "wait" } });
}

function findTask(tasks: readonly HostTask[], wanted: string | undefined, action: string): HostTask {
  const next = "portolan tasks";
  if (wanted === undefined) throw new Failure("usage", `tasks ${action}: no task given`, { next });
  if (wanted.length < minIdLength) {
    const what = `tasks ${action}: expected at least ${minIdLength} characters of an id, got ${JSON.stringify(wanted)}`;
    throw new Failure("usage", what, { next });
  }
  const found = tasks.filter(({ id }) => id.startsWith(wanted));
  const [task] = found;
  if (task && found.length === 1) return task;
  const what = found.length > 1 ? "several tasks match" : "no task has the id";
  throw new Failure("usage", `${what} ${JSON.stringify(wanted)}`, { next });
}

/** Runs work with a host over the server of a task. */
async function withTask<T>(
  context: CommandContext,
  task: HostTask,
  { flags, action, answers }: { readonly flags: Flags; readonly action: string; readonly answers?: HostAnswers },
  work: (host: Host, entry: ServerEntry) => Promise<T>,
): Promise<T> {
  const entry = await findTaskServer(context, task, flags, `portolan tasks ${action} ${task.id}`);
  const options = { ...modelFor(context), tasks: { resume: "wait" as const }, ...(answers && { answers }) };
  return withHost(context, [entry], (host) => work(host, entry), options);
}

async function show(context: CommandContext, task: HostTask, flags: Flags): Promise<CommandResult> {
  return withTask(context, task, { flags, action: "show", answers: unanswered }, async (host) => {
    const asked = nextQuestion(host);
    const now = await host.tasks.refresh(task.id, { signal: context.signal });
    if (now.state === "input_required") await Promise.race([asked, pause()]);
    const questions = host.questions.filter(({ server }) => server === task.server);
    return {
      value: { task: taskValue(now), ...(questions.length > 0 && { questions: questions.map(questionValue) }) },
      text: () => taskText(now, questions, context.screen),
    };
  });
}

async function wait(context: CommandContext, task: HostTask, flags: Flags): Promise<CommandResult> {
  const { screen, terminal, signal } = context;
  const what = `${task.server}.${task.tool}`;
  const answers = screen.isInteractive ? {} : { answers: unanswered };
  return withTask(context, task, { flags, action: "wait", ...answers }, async (host, entry) => {
    const asked = screen.isInteractive ? new Promise<never>(() => {}) : nextQuestion(host);
    const progress = terminal.waits.start(`waiting for ${screen.safe(what)}`);
    const driven = driveTask(context, host, (message) => progress.say(screen.safe(message)), task);
    const waiting = host.tasks.wait(task.id, { signal });
    // A wait that loses the race ends with the host.
    waiting.catch(() => {});
    try {
      const first = await Promise.race([
        waiting.then((result) => ({ result })),
        asked.then((question) => ({ question })),
        driven.left.then(() => ({})),
      ]);
      if ("question" in first && first.question) throw needsAnswer(task, first.question);
      if (!("result" in first) || !first.result) return goesOn(task, `${what} goes on as task ${task.id}.`, screen);
      await forgetTarget(context, task);
      const next = lookCommand(entry, task.tool, context);
      return await presentResult(context, first.result, { entry, tool: task.tool, next, flags });
    } catch (reason) {
      throw driven.wasCancelled ? interruption() : reason;
    } finally {
      driven.end();
      progress.end();
    }
  });
}

async function cancel(context: CommandContext, task: HostTask, flags: Flags): Promise<CommandResult> {
  const { screen } = context;
  return withTask(context, task, { flags, action: "cancel", answers: unanswered }, async (host) => {
    await host.tasks.cancel(task.id);
    await forgetTarget(context, task);
    const ok = screen.style("green", screen.mark("ok"));
    return { value: { cancelled: task.id }, text: () => `${ok} ${screen.safe(task.server)} was told to cancel it` };
  });
}

async function answer(context: CommandContext, task: HostTask, flags: Flags): Promise<CommandResult> {
  const { screen, signal } = context;
  const given = givenAnswer(flags);
  const asked = new Questions(given);
  const answers = given ? { answers: asked.answers } : screen.isInteractive ? {} : { answers: unanswered };
  return withTask(context, task, { flags, action: "answer", ...answers }, async (host) => {
    const events = host.events({ kinds: ["task"] });
    const question = nextQuestion(host);
    const now = await host.tasks.refresh(task.id, { signal });
    const asksNow = question.then(() => true);
    if (now.state !== "input_required" && !(await Promise.race([asksNow, pause().then(() => false)]))) {
      const next = waitStep(task);
      throw new Failure("usage", `task ${task.id} asks nothing now; it is ${now.state}`, { next });
    }
    if (!given && !screen.isInteractive) throw needsAnswer(task, await question);
    const settled = untilAnswered(events);
    const left = await Promise.race([settled, asked.problem]);
    await events.return?.();
    const ok = screen.style("green", screen.mark("ok"));
    const step = left === "again" ? answerStep(task) : waitStep(task);
    const more = left === "again" ? "; the task asks another question" : "";
    return {
      value: { answered: task.id, ...(left === "again" && { asksAgain: true }), next: step },
      text: () => `${ok} answered${more}\n  ${screen.mark("next")} ${screen.step(step)}`,
    };
  });
}

/** Resolves when the task waits for no answer any more. */
async function untilAnswered(events: AsyncIterable<{ readonly kind: string }>): Promise<"answered"> {
  for await (const event of events) {
    const { task } = event as { readonly task?: HostTask };
    if (task && task.state !== "input_required") break;
  }
  return "answered";
}

/** Returns the answer of `--data` or `--decline`. */
function givenAnswer(flags: Flags): ElicitResult | undefined {
  const data = textFlag(flags, "data");
  if (flags["decline"] === true) {
    if (data !== undefined) throw new Failure("usage", "expected --data or --decline, not both");
    return { action: "decline" };
  }
  if (data === undefined) return undefined;
  try {
    const content: unknown = JSON.parse(data);
    if (typeof content === "object" && content !== null && !Array.isArray(content)) {
      return { action: "accept", content: content as JsonObject as NonNullable<ElicitResult["content"]> };
    }
  } catch {
    // Reported below.
  }
  throw new Failure("usage", "--data: expected a JSON object");
}

/** Gives one answer, to the first question of a task. */
class Questions {
  /** Rejects if the answer does not fit, and resolves if there is another question. */
  readonly problem: Promise<"again">;
  readonly answers: HostAnswers;
  #isGiven = false;

  constructor(given: ElicitResult | undefined) {
    let fail: (reason: Failure) => void = () => {};
    let again: (word: "again") => void = () => {};
    this.problem = new Promise((resolve, reject) => {
      again = resolve;
      fail = reject;
    });
    this.problem.catch(() => {});
    // A wrong answer would end the task, so the question is left open.
    const never = new Promise<never>(() => {});
    const give = async (question: HostQuestion): Promise<ElicitResult> => {
      if (this.#isGiven) again("again");
      if (this.#isGiven || !given) return never;
      this.#isGiven = true;
      const problem = await problemOf(given, question);
      if (problem) fail(problem);
      return problem ? never : given;
    };
    this.answers = { elicit: give, openUrl: give };
  }
}

async function problemOf(given: ElicitResult, question: HostQuestion): Promise<Failure | undefined> {
  if (given.action !== "accept") return undefined;
  if (question.kind !== "elicit") {
    const next = "run it in a terminal, where you can answer";
    return new Failure("usage", `the task asks you to open an address: ${messageOf(question)}`, { next });
  }
  const { params, secretFields } = question as FormQuestion;
  const secret = secretFields.find((name) => given.content?.[name] !== undefined);
  if (secret !== undefined) {
    const next = "run it in a terminal, where you can answer";
    return new Failure("denied", `the form asks for what looks like a secret: ${secret}`, { next });
  }
  try {
    await checkFormAnswer(params, given);
    return undefined;
  } catch (reason) {
    return new Failure("usage", `--data: ${(reason as Error).message}`, { cause: reason });
  }
}

function needsAnswer(task: HostTask, question: HostQuestion): Failure {
  const message = `task ${task.id} asks: ${messageOf(question)}`;
  return new Failure("denied", message, { next: answerStep(task) });
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, questionMs).unref());
}
