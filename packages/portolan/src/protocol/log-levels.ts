import type { LogLevel } from "./types/index.ts";

/** From the least urgent to the most; the same on all revisions. */
export const logLevels: readonly LogLevel[] = [
  "debug",
  "info",
  "notice",
  "warning",
  "error",
  "critical",
  "alert",
  "emergency",
];
