import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";

/**
 * The kinds of handlers that servers are measured with: `sync` returns its result, `async` its promise without waiting,
 * `turn` waits for the next turn of the event loop, `ms` waits one millisecond.
 */
export const handlerKinds = ["sync", "async", "turn", "ms"];

/** The kind that people write, and that the budgets are for. */
export const usualKind = "async";

const kind = process.env.BENCH_HANDLERS ?? usualKind;

/** Turns a synchronous handler into one of the measured kind. Every implementation uses it for its tools. */
export function handler(run) {
  switch (kind) {
    case "sync":
      return run;
    case "async":
      return async (args, context) => run(args, context);
    case "turn":
      return async (args, context) => {
        await nextTurn();
        return run(args, context);
      };
    case "ms":
      return async (args, context) => {
        await pause(1);
        return run(args, context);
      };
    default:
      throw new Error(`BENCH_HANDLERS: expected one of ${handlerKinds.join(", ")}, got ${kind}`);
  }
}
