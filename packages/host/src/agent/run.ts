import type { CallToolResult, JsonObject, SamplingContent, SamplingMessage } from "portolan";
import { PortolanError } from "portolan";
import type { Progress } from "portolan/client";
import { onAbort } from "portolan/internal";
import { charsOf } from "../api.ts";
import type { AppContext } from "../apps/context.ts";
import { maxUnreadRunEventChars, maxUnreadRunEvents } from "../limits.ts";
import type { Model, TokenUsage } from "../models/model.ts";
import type { ApprovalQuestion, HostAnswers, HostQuestion } from "../questions.ts";
import type { HostTask } from "../tasks/tasks.ts";
import { Loop, type LoopOptions } from "./loop.ts";

/** An agent run. It works without a reader; leaving the iteration cancels it. */
export interface Run extends AsyncIterable<RunEvent> {
  readonly id: string;
  /** The last event. Never rejects. */
  readonly result: Promise<RunDone>;
  cancel(reason?: string): void;
}

/** The task of a run: a text, or a prompt of a server. */
export type RunInput =
  | string
  | {
      readonly server: string;
      readonly prompt: string;
      readonly args?: { [name: string]: string };
      readonly text?: string;
    };

/** Options of `host.run`. */
export interface RunOptions {
  /** Default: the host's first model. */
  readonly model?: Model;
  /** System prompt of the application, placed before the host's own. */
  readonly system?: string;
  /** Additions of the user for the model: resources, and the words of apps (`takeContext` of their sessions). */
  readonly attach?: readonly ({ readonly server: string; readonly uri: string } | AppContext)[];
  /** Earlier messages, or the `state` of an earlier run, which also names the servers whose content it contains. */
  readonly history?: readonly SamplingMessage[] | RunState;
  /** Only these servers take part. Default: all. */
  readonly servers?: readonly string[];
  /**
   * Names as `server.tool`; `*` stands for any characters. Only these tools, or all but these, of those that the host
   * shows.
   */
  readonly only?: readonly string[];
  readonly except?: readonly string[];
  /** Answers that come before those of the host. */
  readonly answers?: HostAnswers;
  /**
   * Behaviour when a call needs approval: "wait" waits for the answer; "pause" ends the run, which continues with
   * `host.run(state, { decisions })`. Default: "wait".
   */
  readonly approvals?: "wait" | "pause";
  /**
   * What the run does with a call that becomes a task: "wait" waits for its result; "background" tells the model that
   * the task has begun, and its result comes to the model in a later turn. Needs `createHost({ tasks: true })`.
   * Default: "wait".
   */
  readonly tasks?: "wait" | "background";
  /** Answers to the questions of a paused run, by their `callId`. */
  readonly decisions?: { readonly [callId: string]: boolean };
  /** Turns of the model. Default: 20. */
  readonly maxTurns?: number;
  /** Tool calls of the whole run. Default: 100. */
  readonly maxCalls?: number;
  /** Tokens of each turn. Default: 4,096. */
  readonly maxTokens?: number;
  /** Size of the conversation. Default: the model's own limit, or 32,000. */
  readonly contextTokens?: number;
  /** Longer results are stored, and the model reads them in pieces. Default: 20,000. */
  readonly maxResultChars?: number;
  readonly signal?: AbortSignal;
}

/** Something that happens in a run. */
export type RunEvent =
  | { readonly type: "text"; readonly delta: string }
  | { readonly type: "thinking"; readonly delta: string }
  | {
      readonly type: "tool";
      readonly stage: "call";
      readonly id: string;
      readonly server: string;
      readonly tool: string;
      readonly args: JsonObject;
    }
  | { readonly type: "tool"; readonly stage: "progress"; readonly id: string; readonly progress: Progress }
  /** `refusal` says why a call was not made: `was not approved by the user`. */
  | {
      readonly type: "tool";
      readonly stage: "result";
      readonly id: string;
      readonly result: CallToolResult;
      readonly refusal?: string;
    }
  /** A call needs approval: by `answers.approve`, by `host.answer`, or by `decisions` if the run pauses. */
  | { readonly type: "approval"; readonly question: RunApproval }
  /** A server asks a question, which `answers` or `host.answer` answers. */
  | { readonly type: "question"; readonly question: HostQuestion }
  /** A call of the run has become a task, or its task has changed or ended. */
  | { readonly type: "task"; readonly how: "created" | "changed" | "ended"; readonly task: HostTask }
  | { readonly type: "usage"; readonly model: string; readonly usage: TokenUsage }
  /** Information for the user. `server` is the server that it is about. */
  | { readonly type: "notice"; readonly text: string; readonly server?: string }
  | RunDone;

/** The last event of a run. */
export interface RunDone {
  readonly type: "done";
  readonly reason: RunEnd;
  /** The text of the model's last turn. */
  readonly text: string;
  /** The reason if the run failed or was cancelled. */
  readonly error?: Error;
  /** Tokens of all turns since the run began or continued. */
  readonly usage: TokenUsage;
  /** Calls that go on as tasks. Continue the run from its state for their results. */
  readonly tasks?: readonly RunTask[];
  readonly state: RunState;
}

/** Why a run ended. */
export type RunEnd =
  /** The model has finished. */
  | "done"
  /** A call needs approval before the run can continue. */
  | "approval"
  | "max-turns"
  | "max-calls"
  | "max-tokens"
  /** The conversation is larger than the model's context. */
  | "context"
  | "refusal"
  | "cancelled"
  | "failed";

/** A question about a call of a run. */
export interface RunApproval extends ApprovalQuestion {
  readonly callId: string;
}

/** Everything that is needed to continue a run, as JSON. */
export interface RunState {
  readonly id: string;
  readonly messages: readonly SamplingMessage[];
  /**
   * Calls that were not made: they wait for a decision, or the run ended first. They are made when the run continues. A
   * call that was interrupted is not repeated; its result says so.
   */
  readonly pending: readonly ProposedCall[];
  /** Results of the current turn that wait for the others. */
  readonly results: readonly SamplingMessage[];
  /** Servers whose untrusted content is in the conversation. */
  readonly contentFrom: readonly string[];
  /** Servers whose resources are in the conversation. */
  readonly resourcesFrom: readonly string[];
  /** Servers whose skills are in the conversation. */
  readonly skillsFrom?: readonly string[];
  /** Tools that the model has found by search. */
  readonly found: readonly string[];
  /** Results that were too long for the conversation, by name. */
  readonly longResults: { readonly [name: string]: string };
  readonly turns: number;
  readonly calls: number;
  /** Calls that go on as tasks, or whose late result the model has not seen. */
  readonly tasks?: readonly RunTask[];
}

/** A call of a run that became a task in the background. */
export interface RunTask {
  /** The id of the task in `host.tasks`. */
  readonly id: string;
  readonly callId: string;
  readonly server: string;
  readonly tool: string;
  /** The result as the model will see it, if the task has ended. */
  readonly content?: readonly SamplingContent[];
}

/** A call that a model asks for. */
export interface ProposedCall {
  readonly id: string;
  /** The model's name of the tool. */
  readonly name: string;
  readonly input: JsonObject;
  /** Digest of the tool's definition when the run paused. A decision is valid only for this definition. */
  readonly digest?: string;
  /** The id of the task that the call became. A continued run waits for it instead of calling again. */
  readonly task?: string;
}

/** A run that the host can send events to. */
export interface StartedRun extends Run {
  emit(event: RunEvent): Promise<void>;
}

/** Starts a run at once. */
export function startRun(
  options: Omit<LoopOptions, "emit" | "signal" | "model"> & { model: Model | undefined },
): StartedRun {
  const { model, id } = options;
  if (!model) {
    throw new PortolanError(
      "invalid-argument",
      "run: expected a model, got none; pass `model` to createHost or to run",
    );
  }
  const stop = new AbortController();
  const cancel = (reason = "the run was cancelled") => stop.abort(new PortolanError("cancelled", reason));
  const callerSignal = options.options.signal;
  const abort = () => stop.abort(callerSignal?.reason);
  if (callerSignal?.aborted) abort();
  const stopWaiting = callerSignal && onAbort(callerSignal, abort);
  const stream = new RunEventStream(() => cancel("the reader stopped reading its events"));
  // A reader that stops reading must not keep a cancelled run from ending.
  stop.signal.addEventListener("abort", () => stream.release(), { once: true });
  const emit = (event: RunEvent) => stream.emit(event);
  const loop = new Loop({ ...options, model, signal: stop.signal, emit });
  loop.run().finally(() => stopWaiting?.());
  return { id, emit, cancel, result: stream.result, [Symbol.asyncIterator]: () => stream[Symbol.asyncIterator]() };
}

/** The events of one run for one reader. The run waits for a reader that falls far behind. */
export class RunEventStream implements AsyncIterable<RunEvent> {
  readonly result: Promise<RunDone>;
  readonly #onLeft: () => void;
  #unread: RunEvent[] = [];
  /** Characters of the unread events. */
  #chars = 0;
  #isTaken = false;
  #isRead = false;
  #isOver = false;
  #isReleased = false;
  #wakeReader: () => void = () => {};
  /** Writers that wait for the reader. */
  #writers: (() => void)[] = [];
  #finish: (done: RunDone) => void = () => {};

  /** `onLeft` is called when the reader leaves before the end. */
  constructor(onLeft: () => void) {
    this.#onLeft = onLeft;
    this.result = new Promise((resolve) => {
      this.#finish = resolve;
    });
  }

  /** Resolves when there is room for the next event. Without a reader the oldest events are dropped. */
  async emit(event: RunEvent): Promise<void> {
    if (this.#isOver) return;
    // Newer progress follows.
    if (this.#isFull && event.type === "tool" && event.stage === "progress") return;
    if (this.#isFull && event.type === "task" && event.how === "changed") return;
    this.#unread.push(event);
    this.#chars += sizeOf(event);
    if (event.type === "done") {
      this.#isOver = true;
      this.#finish(event);
    }
    this.#wakeReader();
    if (!this.#isFull || this.#isReleased || this.#isOver) return;
    if (this.#isRead) await new Promise<void>((resolve) => this.#writers.push(resolve));
    else this.#dropOldest();
  }

  get #isFull(): boolean {
    return this.#unread.length >= maxUnreadRunEvents || this.#chars >= maxUnreadRunEventChars;
  }

  #dropOldest(): void {
    while (this.#isFull) {
      const oldest = this.#unread.shift();
      if (!oldest) return;
      this.#chars -= sizeOf(oldest);
    }
  }

  /** Stops waiting for the reader, because the run ends. */
  release(): void {
    this.#isReleased = true;
    this.#wakeWriters();
  }

  [Symbol.asyncIterator](): AsyncGenerator<RunEvent> {
    if (this.#isTaken) {
      throw new PortolanError(
        "invalid-argument",
        "run: expected one reader, got a second; iterate over the events only once",
      );
    }
    this.#isTaken = true;
    return this.#read();
  }

  async *#read(): AsyncGenerator<RunEvent> {
    this.#isRead = true;
    try {
      for (;;) {
        const batch = this.#unread;
        this.#unread = [];
        this.#chars = 0;
        this.#wakeWriters();
        yield* batch;
        if (this.#unread.length > 0) continue;
        if (this.#isOver) return;
        await new Promise<void>((resolve) => {
          this.#wakeReader = resolve;
        });
      }
    } finally {
      this.release();
      if (!this.#isOver) this.#onLeft();
    }
  }

  #wakeWriters(): void {
    for (const wake of this.#writers.splice(0)) wake();
  }
}

/** Returns about how many characters an event occupies. */
function sizeOf(event: RunEvent): number {
  if (event.type === "text" || event.type === "thinking") return event.delta.length;
  if (event.type !== "tool") return 0;
  if (event.stage === "call") return charsOf(event.args);
  if (event.stage !== "result") return 0;
  const { content, structuredContent } = event.result;
  let chars = structuredContent === undefined ? 0 : charsOf(structuredContent);
  for (const block of content) {
    // A text or an image may be very long, so it is not written only to be measured.
    if (block.type === "text") chars += block.text.length;
    else chars += "data" in block ? block.data.length : charsOf(block);
  }
  return chars;
}
