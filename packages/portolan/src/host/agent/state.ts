import { nameOf, PortolanError } from "../../errors.ts";
import type { SamplingMessage, ToolResultContent } from "../../protocol/types/index.ts";
import { isObject } from "../../schema/shape.ts";
import type { RunState, Task } from "./run.ts";

/** Whether it is the state of a run; throws for what is neither that nor a task. */
export function isState(task: Task | RunState): task is RunState {
  if (typeof task === "string") return false;
  if (!isObject(task)) throw unusable("words, a prompt of a server or the state of a run", nameOf(task));
  const { messages, pending, settled, id, server, prompt } = task as Partial<RunState & Exclude<Task, string>>;
  if (messages === undefined) {
    if (typeof server === "string" && typeof prompt === "string") return false;
    throw unusable("{ server, prompt }", `an object with ${Object.keys(task).join(", ") || "nothing"}`);
  }
  if ([messages, pending, settled].every(Array.isArray) && typeof id === "string") return true;
  throw unusable("the state of a run, as its last event has it", "another object with messages");
}

/** The results that wait for the others of their turn. */
export function resultsIn({ settled }: RunState): ToolResultContent[] {
  return settled.flatMap(({ content }) => content as ToolResultContent[]);
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

function unusable(expected: string, came: string): PortolanError {
  return new PortolanError("invalid-argument", `run: expected ${expected}, got ${came}`);
}
