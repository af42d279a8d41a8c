import type { Peer } from "../../protocol/revision.ts";
import type { LogLevel } from "../../protocol/types/index.ts";

const severity: { [L in LogLevel]: number } = {
  debug: 0,
  info: 1,
  notice: 2,
  warning: 3,
  error: 4,
  critical: 5,
  alert: 6,
  emergency: 7,
};

/** Whether a peer wants log messages of this level; one that never named a level gets what its revision sends unasked. */
export function mayLog({ logLevel, revision }: Peer, level: LogLevel): boolean {
  if (logLevel === undefined) return revision.logsUnasked;
  return severity[level] >= severity[logLevel];
}
