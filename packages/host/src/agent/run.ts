import type { CallToolResult, JsonObject, SamplingMessage } from "portolan";
import { PortolanError } from "portolan";
import type { Progress } from "portolan/client";
import { maxUnreadRunEvents } from "../limits.ts";
import type { Model, TokenUsage } from "../models/model.ts";
import type { ApprovalQuestion, HostAnswers, HostQuestion } from "../questions.ts";
import { Loop, type LoopOptions } from "./loop.ts";

/** A model at work. It works whether or not anybody iterates; one may, and ends it by leaving. */
export interface Run extends AsyncIterable<RunEvent> {
  readonly id: string;
  /** The last event; never rejects. */
  readonly result: Promise<RunDone>;
  cancel(reason?: string): void;
}

/** What a run works on: words, or a prompt of a server. */
export type RunInput =
  | string
  | {
      readonly server: string;
      readonly prompt: string;
      readonly args?: { [name: string]: string };
      readonly text?: string;
    };

/** How a model works on something. */
export interface RunOptions {
  /** The host's first model unless said. */
  readonly model?: Model;
  /** Put before what the host itself tells the model. */
  readonly system?: string;
  /** Resources that the user chose for the model to see. */
  readonly attach?: readonly { readonly server: string; readonly uri: string }[];
  /** What was said before: messages, or the `state` of an earlier run, which also knows whose words are in it. */
  readonly history?: readonly SamplingMessage[] | RunState;
  /** Only the tools and resources of these servers. */
  readonly servers?: readonly string[];
  /** Names as `server.tool`, `*` for any characters: only these tools, or all but these, beside what the host shows. */
  readonly only?: readonly string[];
  readonly except?: readonly string[];
  /** Before those of the host. */
  readonly answers?: HostAnswers;
  /**
   * What happens when something must be approved: the run waits for the answer; or it ends, and goes on with
   * `host.run(state, { decisions })` when there is one.
   */
  readonly approvals?: "wait" | "pause";
  /** Answers to what a paused run has asked, by the `callId` of each question. */
  readonly decisions?: { readonly [callId: string]: boolean };
  /** How often the model may speak; 20 unless said. */
  readonly maxTurns?: number;
  /** How many tools may be called in all; 100 unless said. */
  readonly maxCalls?: number;
  /** Of each turn; 4,096 unless said. */
  readonly maxTokens?: number;
  /** How much the conversation may hold; what the model says it can take, or 32,000. */
  readonly contextTokens?: number;
  /** Longer results are kept aside for the model to read in pieces; 20,000 unless said. */
  readonly maxResultChars?: number;
  readonly signal?: AbortSignal;
}

/** What happens in a run. */
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
  | { readonly type: "tool"; readonly stage: "result"; readonly id: string; readonly result: CallToolResult }
  /** Something must be approved: by `answers.approve`, by `host.answer`, or, if the run pauses, by `decisions`. */
  | { readonly type: "approval"; readonly question: RunApproval }
  /** A server asks something; it is answered by `answers` or by `host.answer`. */
  | { readonly type: "question"; readonly question: HostQuestion }
  | { readonly type: "usage"; readonly model: string; readonly usage: TokenUsage }
  /** Something that the user should know. */
  | { readonly type: "notice"; readonly text: string }
  | RunDone;

/** The last event. */
export interface RunDone {
  readonly type: "done";
  readonly reason: RunEnd;
  /** What the model said last. */
  readonly text: string;
  /** Why it failed. */
  readonly error?: Error;
  /** Of all turns together since it began, or went on. */
  readonly usage: TokenUsage;
  readonly state: RunState;
}

/** Why a run has ended. */
export type RunEnd =
  /** The model has said all it had to say. */
  | "done"
  /** Something must be approved before it can go on. */
  | "approval"
  | "max-turns"
  | "max-calls"
  | "max-tokens"
  /** The conversation holds more than the model can take. */
  | "context"
  | "refusal"
  | "cancelled"
  | "failed";

/** What must be approved in a run. */
export interface RunApproval extends ApprovalQuestion {
  readonly callId: string;
}

/** All that is needed to go on with a run, as JSON. */
export interface RunState {
  readonly id: string;
  readonly messages: readonly SamplingMessage[];
  /**
   * Calls that were not made: they wait for a decision, or the run ended before them. They are made when it goes on; what
   * was under way when it was cancelled is not, and has a result that says so.
   */
  readonly pending: readonly WantedCall[];
  /** Results of the same turn that wait for the others. */
  readonly results: readonly SamplingMessage[];
  /** Servers whose words are in it. */
  readonly contentFrom: readonly string[];
  /** Servers whose resources are in it. */
  readonly resourcesFrom: readonly string[];
  /** Tools that the model has looked up. */
  readonly found: readonly string[];
  /** What was too long for the conversation, by name. */
  readonly longResults: { readonly [name: string]: string };
  readonly turns: number;
  readonly calls: number;
}

/** A call that a model wishes for. */
export interface WantedCall {
  readonly id: string;
  /** As the model calls it. */
  readonly name: string;
  readonly input: JsonObject;
  /** The digest of the tool's definition when the run paused: a decision is about no other. */
  readonly digest?: string;
}

/** A run and the way to tell its reader what happens around it. */
export interface StartedRun extends Run {
  emit(event: RunEvent): Promise<void>;
}

/** Sets a model to work at once. */
export function startRun(
  options: Omit<LoopOptions, "emit" | "signal" | "model"> & { model: Model | undefined },
): StartedRun {
  const { model, id } = options;
  if (!model) {
    throw new PortolanError("invalid-argument", "run: expected a model, got none; give one to the host or to the run");
  }
  const stop = new AbortController();
  const cancel = (reason = "the run was cancelled") => stop.abort(new PortolanError("cancelled", reason));
  const callerSignal = options.options.signal;
  const abort = () => stop.abort(callerSignal?.reason);
  if (callerSignal?.aborted) abort();
  else callerSignal?.addEventListener("abort", abort, { once: true });
  const stream = new EventStream(() => cancel("nobody reads the run any more"));
  // Whoever does not read on must not keep a run from ending.
  stop.signal.addEventListener("abort", () => stream.release(), { once: true });
  const emit = (event: RunEvent) => stream.emit(event);
  const loop = new Loop({ ...options, model, signal: stop.signal, emit });
  loop.run().finally(() => callerSignal?.removeEventListener("abort", abort));
  return { id, emit, cancel, result: stream.result, [Symbol.asyncIterator]: () => stream[Symbol.asyncIterator]() };
}

/** The events of one run for one reader, whom the run waits for when it falls far behind. */
export class EventStream implements AsyncIterable<RunEvent> {
  readonly result: Promise<RunDone>;
  readonly #onLeft: () => void;
  #unread: RunEvent[] = [];
  #isTaken = false;
  #isRead = false;
  #isOver = false;
  #isReleased = false;
  #wakeReader: () => void = () => {};
  /** Those who wait for room. */
  #writers: (() => void)[] = [];
  #finish: (done: RunDone) => void = () => {};

  /** `left` is called when the reader leaves before the end. */
  constructor(onLeft: () => void) {
    this.#onLeft = onLeft;
    this.result = new Promise((resolve) => {
      this.#finish = resolve;
    });
  }

  /** Resolves when there is room for more; what nobody reads is not kept. */
  async emit(event: RunEvent): Promise<void> {
    if (this.#isOver) return;
    const isFull = this.#unread.length >= maxUnreadRunEvents;
    // There is always newer progress.
    if (isFull && event.type === "tool" && event.stage === "progress") return;
    this.#unread.push(event);
    if (event.type === "done") {
      this.#isOver = true;
      this.#finish(event);
    }
    this.#wakeReader();
    if (this.#unread.length < maxUnreadRunEvents || this.#isReleased || this.#isOver) return;
    if (!this.#isRead) this.#unread.shift();
    else await new Promise<void>((resolve) => this.#writers.push(resolve));
  }

  /** The reader is waited for no longer: the run is to end. */
  release(): void {
    this.#isReleased = true;
    this.#wakeWriters();
  }

  [Symbol.asyncIterator](): AsyncGenerator<RunEvent> {
    if (this.#isTaken) {
      throw new PortolanError("invalid-argument", "run: its events are read already; they are for one reader");
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
