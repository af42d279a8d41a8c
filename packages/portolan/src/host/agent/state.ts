import { nameOf, PortolanError } from "../../errors.ts";
import type { SamplingMessage, ToolResultContent } from "../../protocol/types/index.ts";
import { isObject } from "../../schema/shape.ts";
import type { RunOptions, RunState, Task } from "./run.ts";

/** Whether it is the state of a run; throws for what is neither that nor a task. */
export function isState(task: Task | RunState): task is RunState {
  if (typeof task === "string") return false;
  if (!isObject(task)) throw unusable("words, a prompt of a server or the state of a run", nameOf(task));
  const { messages, server, prompt } = task as Partial<RunState & Exclude<Task, string>>;
  if (messages === undefined) {
    if (typeof server === "string" && typeof prompt === "string") return false;
    throw unusable("{ server, prompt }", `an object with ${Object.keys(task).join(", ") || "nothing"}`);
  }
  if (isWhole(task)) return true;
  throw unusable("the state of a run, as its last event has it", "another object with messages");
}

/** Nothing may be missing: above all not whose words are in it, which consent depends on. */
function isWhole(state: object): state is RunState {
  const { id, messages, pending, results, contentFrom, resourcesFrom, found, aside, turns, calls } =
    state as Partial<RunState>;
  return (
    typeof id === "string" &&
    [messages, pending, results, contentFrom, resourcesFrom, found].every(Array.isArray) &&
    isObject(aside) &&
    [turns, calls].every(Number.isInteger)
  );
}

/** Throws for options that do not go with what is worked on. */
export function checkTask(task: Task | RunState, { history, attach, decisions = {} }: RunOptions): void {
  const state = isState(task) ? task : undefined;
  if (history !== undefined && !Array.isArray(history)) {
    if (!isObject(history)) throw unusable("messages or the state of a run", nameOf(history), "history");
    if (!isWhole(history)) throw unusable("the state of a run, as its last event has it", "another object", "history");
  }
  const extra = Object.entries({ history, attach }).find(([, value]) => value !== undefined);
  if (state && extra) throw unusable("nothing, since the run goes on with its state", nameOf(extra[1]), extra[0]);
  const waiting = state?.pending.map(({ id }) => id) ?? [];
  for (const call of Object.keys(decisions)) {
    if (waiting.includes(call)) continue;
    const why = `no call ${JSON.stringify(call)} waits; there is ${waiting.join(", ") || "none"}`;
    throw new PortolanError("invalid-argument", `decisions: ${why}`);
  }
}

/** The results that wait for the others of their turn. */
export function resultsIn({ results }: RunState): ToolResultContent[] {
  return results.flatMap(({ content }) => content as ToolResultContent[]);
}

/** What was said before; a call that was not made has an answer, too, since models expect one. */
export function messagesOf(history: readonly SamplingMessage[] | RunState): readonly SamplingMessage[] {
  if (!("messages" in history)) return history;
  const left = history.pending.map(({ id }): ToolResultContent => {
    const content = [{ type: "text" as const, text: "This call was not made." }];
    return { type: "tool_result", toolUseId: id, content, isError: true };
  });
  const answers = [...resultsIn(history), ...left];
  return answers.length === 0 ? history.messages : [...history.messages, { role: "user", content: answers }];
}

function unusable(expected: string, came: string, of = "run"): PortolanError {
  return new PortolanError("invalid-argument", `${of}: expected ${expected}, got ${came}`);
}
