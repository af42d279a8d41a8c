import { ToolError } from "../call/call-tool.ts";
import type { Context } from "../call/context.ts";
import type { ToolReturn } from "../define/definition.ts";
import type { TaskJob } from "./definition.ts";

/** Starts work in another system once, and looks at it until it has ended. Stops it when the call is cancelled. */
export async function runJob<O>(
  { start, look, stop }: TaskJob<unknown, O, unknown>,
  args: unknown,
  context: Context<unknown>,
  pollMs: number,
): Promise<ToolReturn<O>> {
  const { signal } = context;
  const job = await context.once("job", () => start(args, context));
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
