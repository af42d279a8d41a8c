import type { ToolResultContent } from "portolan";
import { toError } from "portolan/internal";
import type { Host } from "../api.ts";
import { maxParallelCalls } from "../limits.ts";
import { type CallContext, digestOf, LeftRunning, Paused, runCall } from "./call.ts";
import { type Checkpoints, GroupStart } from "./checkpoints.ts";
import type { ProposedCall, RunEvent, RunState } from "./run.ts";

/** Adds the tasks of calls that have begun: a call may have become a task after its state was stored. */
export function withTasks(state: RunState, { tasks }: Pick<Host, "tasks">): RunState {
  if (!state.pending.some(({ begun }) => begun)) return state;
  const own = tasks.list().filter(({ run }) => run === state.id);
  const pending = state.pending.map((call) => {
    const known = own.find(({ callId }) => callId === call.id);
    return call.begun && known ? { ...call, task: known.id } : call;
  });
  return { ...state, pending };
}

/** The calls of a model's turn: those that are pending, and the results of the others. */
export class TurnCalls {
  readonly #checkpoints: Checkpoints;
  /** True if a tool is read-only, as far as its server is trusted. Such calls run in parallel. */
  readonly #isReadOnly: (server: string, tool: string) => boolean;
  #pending: readonly ProposedCall[];
  #results: readonly ToolResultContent[];
  /** All calls of the run that were made. */
  #made: number;
  #start: GroupStart | undefined;

  constructor(
    state: Pick<RunState, "pending" | "results" | "calls"> | undefined,
    checkpoints: Checkpoints,
    isReadOnly: (server: string, tool: string) => boolean,
  ) {
    this.#checkpoints = checkpoints;
    this.#isReadOnly = isReadOnly;
    this.#pending = state?.pending ?? [];
    this.#results = state?.results.flatMap(({ content }) => content as ToolResultContent[]) ?? [];
    this.#made = state?.calls ?? 0;
  }

  get pending(): readonly ProposedCall[] {
    return this.#pending;
  }

  get results(): readonly ToolResultContent[] {
    return this.#results;
  }

  get made(): number {
    return this.#made;
  }

  /** True if the turn has no calls. */
  get isEmpty(): boolean {
    return this.#pending.length + this.#results.length === 0;
  }

  /** Begins the next turn. Calls that are not made have their results already. */
  begin(calls: readonly ProposedCall[], results: readonly ToolResultContent[]): void {
    this.#pending = calls;
    this.#results = results;
  }

  /** Makes read-only calls in parallel, the others one after the other. Returns false if one needs approval first. */
  async make(context: CallContext): Promise<boolean> {
    for (const group of this.#groups(context)) {
      const failed = await this.#makeGroup(group, context);
      if (context.signal.aborted) throw toError(context.signal.reason);
      // Later calls may depend on the one that waits.
      if (failed.length > 0) {
        const asked = new Map(
          failed.flatMap((reason) => (reason instanceof Paused ? [[reason.call, reason.digest]] : [])),
        );
        this.#pending = this.#pending.map((call) => {
          // A decision about a call that may have run counts only if the user was asked since.
          if (call.begun && !asked.has(call.id)) return call;
          return { ...call, digest: asked.get(call.id) ?? digestOf(call, context.toolbox) };
        });
        return false;
      }
    }
    return true;
  }

  /** Notes what an event says about a call of the running group. */
  observe(event: RunEvent): void {
    // The others do not wait for a call that the user is asked about.
    if (event.type === "approval") this.#start?.leave(event.question.callId);
    if (event.type === "question" && event.question.kind === "changed") {
      this.#start?.leave(event.question.callId ?? "");
    }
    if (event.type !== "task" || event.how !== "created") return;
    const { callId, id } = event.task;
    if (callId === undefined || !this.#pending.some((call) => call.id === callId)) return;
    this.#noteTask(callId, id);
    // A failure ends the run at its next checkpoint.
    this.#checkpoints.save().catch(() => {});
  }

  /** Makes calls at the same time. Returns why some of them are still pending. */
  async #makeGroup(group: readonly ProposedCall[], context: CallContext): Promise<readonly unknown[]> {
    const before = this.#results;
    const made = new Map<string, ToolResultContent>();
    const ids = group.map(({ id }) => id);
    const start = this.#checkpoints.isOn ? new GroupStart(ids, (ready) => this.#beginCalls(ready)) : undefined;
    this.#start = start;
    const make = async (call: ProposedCall): Promise<void> => {
      const { id } = call;
      let hasBegun = false;
      const beforeSend = async () => {
        await start?.arrive(id);
        hasBegun = true;
      };
      try {
        made.set(id, await runCall(call, start ? { ...context, beforeSend } : context));
      } catch (thrown) {
        if (thrown instanceof LeftRunning) this.#noteTask(id, thrown.task);
        // It was not sent, except by an earlier run.
        else if (!hasBegun) this.#replace(id, call);
        throw thrown;
      } finally {
        start?.leave(id);
      }
      // Stored at once, so that a finished call is not repeated when the run continues.
      this.#results = [...before, ...ids.flatMap((one) => made.get(one) ?? [])];
      this.#pending = this.#pending.filter((one) => one.id !== id);
      this.#made += 1;
      await this.#checkpoints.save();
    };
    const settled = await Promise.allSettled(group.map(make));
    const failed = settled.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []));
    for (const reason of failed) if (!(reason instanceof LeftRunning || reason instanceof Paused)) throw reason;
    return failed;
  }

  async #beginCalls(ids: readonly string[]): Promise<void> {
    this.#pending = this.#pending.map((call) =>
      // Without the digest, because a decision of the user counts only until the call begins.
      ids.includes(call.id) ? { id: call.id, name: call.name, input: call.input, begun: true } : call,
    );
    await this.#checkpoints.save();
  }

  #noteTask(id: string, task: string): void {
    this.#pending = this.#pending.map((call) => (call.id === id ? { ...call, task } : call));
  }

  #replace(id: string, call: ProposedCall): void {
    this.#pending = this.#pending.map((one) => (one.id === id ? call : one));
  }

  #groups({ toolbox }: CallContext): ProposedCall[][] {
    const groups: ProposedCall[][] = [];
    let isOpen = false;
    for (const call of this.#pending) {
      const tool = toolbox.find(call.name);
      // An app is one page: its calls come one after the other.
      const isReadOnly = tool !== undefined && !tool.offer && this.#isReadOnly(tool.server, tool.name);
      const last = groups.at(-1);
      if (isReadOnly && isOpen && last && last.length < maxParallelCalls) last.push(call);
      else groups.push([call]);
      isOpen = isReadOnly;
    }
    return groups;
  }
}
