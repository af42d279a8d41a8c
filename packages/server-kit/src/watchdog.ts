import { Worker } from "node:worker_threads";

/** Limits of a child process. */
export interface WatchdogLimits {
  /** Memory of the whole process, including what lies outside the JavaScript heap. */
  readonly maxMemoryMb: number;
}

const intervalMs = 100;

/** A thread, because the main one may be busy with synchronous work for as long as the process lives. */
const program = `
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
  }, workerData.intervalMs);
`;

/** Kills this child process when its server is gone, and when it needs too much memory. */
export function startWatchdog({ maxMemoryMb }: WatchdogLimits): void {
  process.on("disconnect", () => process.exit());
  new Worker(program, { eval: true, workerData: { maxBytes: maxMemoryMb * 1024 * 1024, intervalMs } });
}
