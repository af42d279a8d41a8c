import type { CallToolResult, SamplingContent, SamplingMessage } from "portolan";
import { PortolanError } from "portolan";
import { toError } from "portolan/internal";
import type { ContentOrigins, Host } from "../api.ts";
import { waitFor } from "../consent.ts";
import { display } from "../display/index.ts";
import type { HostAnswers } from "../questions.ts";
import { type Presentation, presentResult, type SeenResult } from "./present.ts";
import type { RunEvent, RunTask } from "./run.ts";

/** Parts of a run that its tasks use. */
export interface RunTasksOptions {
  readonly host: Pick<Host, "tasks">;
  readonly signal: AbortSignal;
  readonly conversation: ContentOrigins;
  readonly presentation: Presentation;
  readonly answers: HostAnswers | undefined;
  readonly emit: (event: RunEvent) => Promise<void>;
  /** Called when a result has come. */
  readonly onResult: () => void;
}

/** The calls of a run that go on as tasks, while the model works on. */
export class RunTasks {
  readonly #options: RunTasksOptions;
  readonly #all = new Map<string, RunTask>();
  readonly #waits = new Map<string, Promise<void>>();
  readonly #ending = new AbortController();

  /** Waits for the tasks of an earlier run again. */
  constructor(options: RunTasksOptions, before: readonly RunTask[]) {
    this.#options = options;
    for (const task of before) this.add(task);
  }

  get all(): readonly RunTask[] {
    return [...this.#all.values()];
  }

  add(task: RunTask): void {
    this.#all.set(task.id, task);
    if (!task.content) this.#waits.set(task.id, this.#wait(task));
  }

  /** Resolves when the result of one task can be taken; at the latest when none of them is waited for any more. */
  async one(): Promise<void> {
    if (this.all.some(({ content }) => content)) return;
    const waits = [...this.#waits.values()];
    const ended = new Promise<void>((resolve) => {
      for (const [id, wait] of this.#waits) wait.then(() => this.#all.get(id)?.content && resolve());
    });
    await waitFor(Promise.race([ended, Promise.all(waits)]), this.#options.signal);
  }

  /** Returns the results of the tasks that have ended since, as a message for the model. */
  take(): SamplingMessage | undefined {
    const ended = this.all.filter(({ content }) => content);
    for (const { id } of ended) this.#all.delete(id);
    const content = ended.flatMap(({ content = [] }) => content);
    return content.length === 0 ? undefined : { role: "user", content };
  }

  /** Stops waiting. The results that came before are kept, and the other tasks go on. */
  async end(): Promise<void> {
    this.#ending.abort(new PortolanError("cancelled", "The run has ended"));
    await Promise.all(this.#waits.values());
  }

  async #wait(task: RunTask): Promise<void> {
    const { host, conversation, answers, presentation, emit, onResult } = this.#options;
    const { signal } = this.#ending;
    const { id, callId, server, tool } = task;
    let result: CallToolResult;
    try {
      result = await host.tasks.wait(id, { signal, conversation, ...(answers && { answers }) });
    } catch (thrown) {
      const { message } = toError(thrown);
      // Its result comes to the run that continues.
      if (signal.aborted || this.#options.signal.aborted) return;
      if (mayGoOn(thrown, id, host)) {
        void emit({ type: "notice", server, text: `The task of ${server}.${tool} is not followed: ${message}` });
        return;
      }
      result = { content: [{ type: "text", text: message }], isError: true };
    } finally {
      this.#waits.delete(id);
    }
    const { content, seen } = toLateContent(task, result, presentation);
    this.#all.set(id, { ...task, content });
    onResult();
    void emit({ type: "tool", stage: "result", id: callId, result, seen });
  }
}

/** True for an error of the wait, not of the task. */
function mayGoOn(reason: unknown, id: string, { tasks }: Pick<Host, "tasks">): boolean {
  if (reason instanceof PortolanError && reason.code === "capability-missing") return true;
  const task = tasks.list().find((one) => one.id === id);
  return task?.state === "working" || task?.state === "input_required";
}

/** Presents a late result. Content of a server is data, although it stands in a message of the user. */
function toLateContent(
  { callId, server, tool }: RunTask,
  result: CallToolResult,
  presentation: Presentation,
): { readonly content: readonly SamplingContent[]; readonly seen: SeenResult } {
  const from = `tool ${display(tool)} of server "${display(server)}"`;
  const how = result.isError ? "has failed" : "has ended";
  const text = `Your earlier call ${callId} (${from}), which went on as a task, ${how}.`;
  const { block, seen } = presentResult(callId, from, result, presentation);
  const shown = block.content.filter(({ type }) => type === "text" || type === "image" || type === "audio");
  return { content: [{ type: "text", text }, ...(shown as SamplingContent[])], seen };
}
