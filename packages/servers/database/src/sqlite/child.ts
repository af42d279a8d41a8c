import { Worker } from "node:worker_threads";
import { Engine, type EngineOptions, type EngineRequest, type EngineResponse } from "./engine.ts";

/** URL of this module, which also runs as a program: only a process can be stopped in the middle of a statement. */
export const file: string = import.meta.url;

/** Argument that marks a start as the program. */
export const marker = "portolan-database-sqlite";

/** Options of the program, passed as its argument. */
export interface ChildOptions extends EngineOptions {
  readonly maxMemoryMb: number;
}

/** A message of the program: first ready or refused, then one response per request. */
export type ChildMessage = { readonly ready: true } | { readonly refused: string } | EngineResponse;

/** Interval of the watchdog thread. */
const watchMs = 100;

/**
 * A watchdog thread, because SQLite blocks the main one. It kills the process when the server is gone, and when a
 * statement needs too much memory.
 */
const watchdog = `
  const { workerData } = require("node:worker_threads");
  const parent = process.ppid;
  // On systems where an orphan keeps its parent's id, a signal 0 tells whether the parent is alive.
  const isOrphan = () => {
    try {
      return process.ppid !== parent || !process.kill(parent, 0);
    } catch {
      return true;
    }
  };
  setInterval(() => {
    if (isOrphan() || process.memoryUsage.rss() > workerData.maxBytes) process.kill(process.pid, "SIGKILL");
  }, workerData.watchMs);
`;

async function serve(options: ChildOptions): Promise<void> {
  const say = (said: ChildMessage) => process.send?.(said);
  process.on("disconnect", () => process.exit());
  new Worker(watchdog, { eval: true, workerData: { maxBytes: options.maxMemoryMb * 1024 * 1024, watchMs } });
  try {
    const engine = await Engine.open(options);
    process.on("message", (request: EngineRequest) => say(engine.handle(request)));
    say({ ready: true });
  } catch (reason) {
    say({ refused: (reason as Error).message });
  }
}

const [, , mark, options] = process.argv;
if (mark === marker && process.send !== undefined) await serve(JSON.parse(options ?? "") as ChildOptions);
