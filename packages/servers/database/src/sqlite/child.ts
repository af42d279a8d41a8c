import { Worker } from "node:worker_threads";
import { type Answer, Engine, type EngineOptions, type Order } from "./engine.ts";

/** The file of this module, which runs as a program too: only a process can be ended in the middle of a statement. */
export const file: string = import.meta.url;

/** What tells the program from the module. */
export const marker = "portolan-database-sqlite";

/** What the program is told, as its argument. */
export interface ChildOptions extends EngineOptions {
  readonly maxMemoryMb: number;
}

/** What the program says: that it is ready or why not, then an answer for each order. */
export type Said = { readonly ready: true } | { readonly refused: string } | Answer;

/** How often the watching thread looks. */
const watchMs = 100;

/**
 * While SQLite works nothing else runs in its thread. This one ends the process when the server is gone, and when a
 * statement needs too much memory.
 */
const watching = `
  const { workerData } = require("node:worker_threads");
  const parent = process.ppid;
  // Where an orphan keeps the number of its parent, asking for a sign of life tells.
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
  const say = (said: Said) => process.send?.(said);
  process.on("disconnect", () => process.exit());
  new Worker(watching, { eval: true, workerData: { maxBytes: options.maxMemoryMb * 1024 * 1024, watchMs } });
  try {
    const engine = await Engine.open(options);
    process.on("message", (order: Order) => say(engine.handle(order)));
    say({ ready: true });
  } catch (reason) {
    say({ refused: (reason as Error).message });
  }
}

const [, , mark, options] = process.argv;
if (mark === marker && process.send !== undefined) await serve(JSON.parse(options ?? "") as ChildOptions);
