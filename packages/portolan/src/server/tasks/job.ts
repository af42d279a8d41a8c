import { nameOf, PortolanError } from "../../errors.ts";
import { checkNumbers, checkOptions } from "../../options.ts";
import { ToolError } from "../call/call-tool.ts";
import type { Context } from "../call/context.ts";
import type { ToolReturn } from "../define/definition.ts";
import type { TaskJob } from "./definition.ts";
import { defaultPollMs } from "./limits.ts";

/** The effect of `once` whose result is the name of the work. */
export const jobEffect = "job";

/** The jobs behind handlers that `job` made. */
const jobs = new WeakMap<object, TaskJob<unknown, unknown, unknown>>();

/** Returns the job behind a handler; undefined if `job` did not make it. */
export function jobOf(run: unknown): TaskJob<unknown, unknown, unknown> | undefined {
  return typeof run === "function" ? jobs.get(run) : undefined;
}

/** Makes the `run` of a tool whose work another system does. As a task, the tool goes on after a restart. */
export function job<I, O, App>(work: TaskJob<I, O, App>): (args: I, context: Context<App>) => Promise<ToolReturn<O>> {
  checkOptions(work, { start: 1, look: 1, stop: 1, pollMs: 1 }, "job", { code });
  checkNumbers(work, "pollMs");
  for (const [name, value] of Object.entries({ start: work.start, look: work.look, stop: work.stop ?? work.look })) {
    if (typeof value === "function") continue;
    throw new PortolanError(code, `job: ${name}: expected a function, got ${nameOf(value)}`);
  }
  const run = (args: I, context: Context<App>) => runJob(work, args, context);
  jobs.set(run, work as TaskJob<unknown, unknown, unknown>);
  return run;
}

const code = "invalid-definition";

/** Starts work in another system once, and looks at it until it has ended. Stops it when the call is cancelled. */
async function runJob<I, O, App>(
  { start, look, stop, pollMs = defaultPollMs }: TaskJob<I, O, App>,
  args: I,
  context: Context<App>,
): Promise<ToolReturn<O>> {
  const { signal } = context;
  const job = await context.once(jobEffect, () => start(args, context));
  try {
    for (;;) {
      const state = await look(job, context);
      if (state.status === "completed") return state.result;
      if (state.status === "failed") throw new ToolError(state.message ?? "The job failed");
      if (state.message !== undefined) context.status(state.message);
      await pause(pollMs, signal);
    }
  } catch (cause) {
    if (signal.aborted) await stop?.(job);
    throw cause;
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const timer = setTimeout(done, ms);
    function done() {
      signal.removeEventListener("abort", aborted);
      resolve();
    }
    function aborted() {
      clearTimeout(timer);
      reject(signal.reason);
    }
    signal.addEventListener("abort", aborted, { once: true });
  });
}
