import { PortolanError } from "portolan";
import { toError } from "portolan/internal";
import { waitFor } from "../consent.ts";
import type { RunOptions, RunState } from "./run.ts";

/** The state of a run could not be stored, so the run sends nothing more. */
export class CheckpointError extends PortolanError {
  constructor(cause: Error) {
    super("store-failed", `The run ends, because its state could not be stored: ${cause.message}`, { cause });
  }
}

/** Stores the state of a run, one state after the other. */
export class Checkpoints {
  readonly #write: RunOptions["checkpoint"];
  readonly #state: () => RunState;
  readonly #signal: AbortSignal;
  /** The state that is being written, and the one that comes after it. */
  #writing: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #failure: CheckpointError | undefined;
  #isOver = false;

  /** `state` returns the present state. */
  constructor(write: RunOptions["checkpoint"], state: () => RunState, signal: AbortSignal) {
    this.#write = write;
    this.#state = state;
    this.#signal = signal;
  }

  /** True if the application stores states. */
  get isOn(): boolean {
    return this.#write !== undefined;
  }

  /** Resolves when the present state, or a later one, is stored. Rejects if it cannot be, or the run ends. */
  async save(): Promise<void> {
    const write = this.#write;
    if (!write) return;
    // All who wait for the state that is being written share the next one.
    this.#next ??= this.#saveNext(write);
    await waitFor(this.#next, this.#signal);
  }

  /** Stores no more states, because the last event brings the last one. Resolves when none is being written. */
  async end(): Promise<void> {
    this.#isOver = true;
    if (this.#writing) await waitFor(this.#writing, this.#signal).catch(() => {});
  }

  async #saveNext(write: (state: RunState) => Promise<void>): Promise<void> {
    // Its failure is reported by those who wait for it.
    await this.#writing?.catch(() => {});
    this.#next = undefined;
    if (this.#isOver) return;
    if (this.#failure) throw this.#failure;
    if (this.#signal.aborted) throw toError(this.#signal.reason);
    this.#writing = this.#save(write);
    await this.#writing;
  }

  async #save(write: (state: RunState) => Promise<void>): Promise<void> {
    try {
      await write(this.#state());
    } catch (thrown) {
      this.#failure = new CheckpointError(toError(thrown));
      throw this.#failure;
    }
  }
}

/** Lets the calls of a group begin together, so that one checkpoint tells of all of them before any is sent. */
export class GroupStart {
  readonly #begin: (ids: readonly string[]) => Promise<void>;
  /** Calls that will be ready, or will not be made. */
  readonly #undecided: Set<string>;
  readonly #started = new Set<string>();
  #ready: string[] = [];
  #waiting: ((start: Promise<void>) => void)[] = [];

  constructor(ids: readonly string[], begin: (ids: readonly string[]) => Promise<void>) {
    this.#undecided = new Set(ids);
    this.#begin = begin;
  }

  /** Resolves when the call may be sent. */
  async arrive(id: string): Promise<void> {
    // A call may consist of several requests.
    if (this.#started.has(id)) return;
    this.#started.add(id);
    this.#ready.push(id);
    const start = new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.leave(id);
    await start;
  }

  /** Notes that the others need not wait for a call: it has ended, or the user is asked about it. */
  leave(id: string): void {
    this.#undecided.delete(id);
    if (this.#undecided.size > 0 || this.#ready.length === 0) return;
    const start = this.#begin(this.#ready.splice(0));
    for (const wake of this.#waiting.splice(0)) wake(start);
  }
}
