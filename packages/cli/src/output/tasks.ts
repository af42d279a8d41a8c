import type { FormQuestion, HostQuestion, HostTask, UrlQuestion } from "portolan-host";
import type { CommandResult } from "../command.ts";
import type { Screen } from "../terminal/screen.ts";

/** Returns a task as JSON, without what holds only for this process. */
export function taskValue({ isFollowed: _, ...task }: HostTask): object {
  return task;
}

/** Returns the command that waits for the result of a task. */
export function waitStep({ id }: HostTask): string {
  return `portolan tasks wait ${id}`;
}

/** Returns the command that answers the question of a task. */
export function answerStep({ id }: HostTask): string {
  return `portolan tasks answer ${id}`;
}

/** Formats tasks as a table, the newest first. */
export function tasksTable(tasks: readonly HostTask[], screen: Screen): string {
  const head = ["id", "state", "tool", "started", "message"].map((title) => screen.style("dim", title));
  const rows = tasks
    .toSorted((a, b) => (a.startedAt < b.startedAt ? 1 : -1))
    .map(({ id, state, server, tool, startedAt, message = "" }) => [
      id,
      stateText(state, screen),
      screen.safe(`${server}.${tool}`),
      timeOf(startedAt),
      screen.style("dim", screen.safe(message)),
    ]);
  return screen.table([head, ...rows], { isTitled: true });
}

/** Returns the output for a task that goes on without this command. */
export function goesOn(task: HostTask, what: string, screen: Screen): CommandResult {
  const next = waitStep(task);
  return {
    value: { task: taskValue(task), next },
    text: () => `${screen.safe(what)}\n  ${screen.mark("next")} ${screen.step(next)}`,
  };
}

/** A question of a task, as programs see it. */
export function questionValue(question: HostQuestion): object {
  const { kind } = question;
  if (kind === "elicit") {
    const { message, requestedSchema } = (question as FormQuestion).params;
    return { kind: "form", message, requestedSchema };
  }
  if (kind === "openUrl") {
    const { message, url } = (question as UrlQuestion).params;
    return { kind: "address", message, url };
  }
  return { kind };
}

/** Formats one task with its questions. */
export function taskText(task: HostTask, questions: readonly HostQuestion[], screen: Screen): string {
  const { id, server, tool, state, message, startedAt, changedAt, expiresAt } = task;
  const rows = [
    ["id", id],
    ["tool", screen.safe(`${server}.${tool}`)],
    ["state", stateText(state, screen)],
    ...(message === undefined ? [] : [["message", screen.safe(message)]]),
    ["started", timeOf(startedAt)],
    ["changed", timeOf(changedAt)],
    ...(expiresAt === undefined ? [] : [["expires", timeOf(expiresAt)]]),
    ...questions.map((question) => ["asks", screen.safe(messageOf(question))]),
  ];
  const step = nextOf(task, questions);
  const lines = [screen.table(rows)];
  if (step !== undefined) lines.push(`  ${screen.mark("next")} ${screen.step(step)}`);
  return lines.join("\n");
}

/** Returns the text of a question of a server. */
export function messageOf(question: HostQuestion): string {
  return question.kind === "elicit" || question.kind === "openUrl" ? question.params.message : question.kind;
}

function nextOf(task: HostTask, questions: readonly HostQuestion[]): string | undefined {
  if (task.state === "lost" || task.state === "cancelled") return undefined;
  return questions.length > 0 ? answerStep(task) : waitStep(task);
}

function stateText(state: HostTask["state"], screen: Screen): string {
  const text = state === "input_required" ? "asks" : state;
  if (state === "completed") return screen.style("green", text);
  if (state === "working") return text;
  return screen.style(state === "input_required" ? "yellow" : "red", text);
}

function timeOf(time: string): string {
  return time.slice(0, 16).replace("T", " ");
}
