import type { CallToolResult, JsonObject, SamplingContent, SamplingMessage } from "portolan";
import { PortolanError } from "portolan";
import type { Progress } from "portolan/client";
import { onAbort } from "portolan/internal";
import type { AppSession } from "../apps/api.ts";
import type { AppContext } from "../apps/context.ts";
import type { RefusalReason } from "../consent.ts";
import type { Model, ModelTool, TokenUsage } from "../models/model.ts";
import type { ApprovalQuestion, HostAnswers, HostQuestion } from "../questions.ts";
import type { HostTask } from "../tasks/tasks.ts";
import { Loop, type LoopOptions } from "./loop.ts";
import type { SeenResult } from "./present.ts";
import { RunEventStream } from "./run-events.ts";

/**
 * An agent run. It works without a reader. One reader may iterate over the run itself: the run waits for that reader,
 * and ends when it leaves. Any number of others read `events()`.
 */
export interface Run extends AsyncIterable<RunEvent> {
  /** The same in the activity log and in the calls of the run. */
  readonly id: string;
  /**
   * Returns the events after the one with this number; they count from 1 without gaps. The run does not wait for these
   * readers, and leaving ends nothing. A reader that wants older events than are kept gets `lost` first. Default: 0.
   */
  events(after?: number): AsyncIterable<NumberedRunEvent>;
  /** The last event. Never rejects. */
  readonly result: Promise<RunDone>;
  /** Ends the run and its calls. */
  cancel(reason?: string): void;
}

/** The input of a run: a text, or a prompt of a server. */
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
  /**
   * Open apps whose tools the model may call, if they were opened with `appTools`. Read before each turn, so that a set may
   * change while the run goes on. Their tools are no part of the run's state.
   */
  readonly apps?: Iterable<AppSession>;
  /** Earlier messages, or the `state` of an earlier run, which also names the servers whose content it contains. */
  readonly history?: readonly SamplingMessage[] | RunState;
  /** Only these servers take part. Default: all. */
  readonly servers?: readonly string[];
  /**
   * Names as `server.tool`; `*` stands for any characters. Only these tools, or all but these, of those that the host
   * shows.
   */
  readonly only?: readonly string[];
  /** Tools that the model does not see in this run. */
  readonly except?: readonly string[];
  /** Answers that come before those of the host. */
  readonly answers?: HostAnswers;
  /**
   * Behaviour when a call needs approval: "wait" waits for the answer; "pause" ends the run, which continues with
   * `host.run(state, { decisions })`. Default: "wait".
   */
  readonly approvals?: "wait" | "pause";
  /**
   * The treatment of a call that becomes a task: "wait" waits for its result; "background" tells the model that
   * the task has begun, and its result comes to the model in a later turn. Needs `createHost({ tasks: true })`.
   * Default: "wait".
   */
  readonly tasks?: "wait" | "background";
  /** Answers to the questions of a paused run, by their `callId`. */
  readonly decisions?: { readonly [callId: string]: boolean };
  /**
   * Stores the state of the run, so that it continues after a crash. The run waits for it before a call is sent, which
   * has `begun: true` in that state, after each result and after each turn. If it rejects, no call is sent any more, and
   * the run fails.
   */
  readonly checkpoint?: (state: RunState) => Promise<void>;
  /**
   * The treatment of calls that had `begun` and whose end is not known, in a continued run: "tell-model" tells the model that
   * the call may have taken effect; "ask-again" asks the user whether to send it again, also where a rule or a grant
   * allows it. Default: "tell-model".
   */
  readonly uncertain?: "ask-again" | "tell-model";
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
  /** Cancels the run. */
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
      /** The URI of the app that offers the tool, and not the server itself. */
      readonly app?: string;
      readonly args: JsonObject;
    }
  | { readonly type: "tool"; readonly stage: "progress"; readonly id: string; readonly progress: Progress }
  /** `refusal` says why a call was not made, `was not approved by the user`, and `refusalReason` says it to programs. */
  | {
      readonly type: "tool";
      readonly stage: "result";
      readonly id: string;
      readonly result: CallToolResult;
      /** The part of the result that the model gets. */
      readonly seen?: SeenResult;
      readonly refusal?: string;
      readonly refusalReason?: RefusalReason;
      /** True if the call has no known end: it may have taken effect. */
      readonly mayHaveRun?: true;
    }
  /** A call needs approval: by `answers.approve`, by `host.answer`, or by `decisions` if the run pauses. */
  | { readonly type: "approval"; readonly question: RunApproval }
  /** A server asks a question, which `answers` or `host.answer` answers. */
  | { readonly type: "question"; readonly question: HostQuestion }
  /** A call of the run has become a task, or its task has changed or ended. */
  | { readonly type: "task"; readonly how: "created" | "changed" | "ended"; readonly task: HostTask }
  /** The model is about to be asked. */
  | { readonly type: "context"; readonly tokens: RunTokens }
  | { readonly type: "usage"; readonly model: string; readonly usage: TokenUsage }
  /** Information for the user. `server` is the server that it is about. */
  | { readonly type: "notice"; readonly text: string; readonly server?: string }
  /** The reader was too slow or came too late: this many events are not kept any more. */
  | { readonly type: "lost"; readonly count: number }
  | RunDone;

/** An event of a run with its number. `lost` has the number of the last lost event. */
export type NumberedRunEvent = RunEvent & { readonly seq: number };

/** Estimated tokens of one request to a model. */
export interface RunTokens {
  /** The system prompt, with the instructions of servers. */
  readonly system: number;
  readonly tools: number;
  /** The messages, without what is attached. */
  readonly conversation: number;
  /** The attached resources, and the words of apps. */
  readonly resources: number;
  /** The most tokens of a request: the context of the model without the room for its answer. */
  readonly limit: number;
}

/** The first request of a run, as far as it is known before the run. */
export interface RunPreview {
  readonly system: string;
  readonly tools: readonly ModelTool[];
  readonly messages: readonly SamplingMessage[];
  /** More than `limit` together if the run would end because its conversation is too long. */
  readonly tokens: RunTokens;
  /** Parts that are known only when the run has begun, one sentence each. */
  readonly leftOut: readonly { readonly server: string; readonly text: string }[];
}

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
   * Calls without a result: they wait for a decision, or the run ended first. They are made when the run continues,
   * except those that have `begun`. A call that was interrupted is not repeated; its result says so.
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
  /** Estimated tokens of the attached resources in the conversation. */
  readonly resourceTokens?: number;
  /** Results that were too long for the conversation, by name. */
  readonly longResults: { readonly [name: string]: string };
  readonly turns: number;
  readonly calls: number;
  /** Only in a checkpoint: the model has finished, and a run that continues from here ends at once. */
  readonly isDone?: boolean;
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
  /** The call was about to be sent, or was sent. Its end is not known. */
  readonly begun?: true;
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
  const loop = new Loop({ ...options, model, signal: stop.signal, emit: (event) => stream.emit(event) });
  loop.run().finally(() => stopWaiting?.());
  return {
    id,
    cancel,
    emit(event) {
      loop.observe(event);
      return stream.emit(event);
    },
    events: (after) => stream.events(after),
    result: stream.result,
    [Symbol.asyncIterator]: () => stream[Symbol.asyncIterator](),
  };
}
