export type {
  Activity,
  ActivityDamage,
  ActivityEntry,
  ActivityKind,
  ActivityLog,
  ActivityQuery,
  ActivityVerdict,
} from "./log.ts";
export {
  type ActivityFileOptions,
  type ActivityOptions,
  entriesDropped,
  exportActivity,
  openActivity,
  openActivityFile,
  recordNow,
  verifyActivityFile,
} from "./log.ts";
export { createRedactor, type Redactor, redact } from "./redact.ts";
export type { ActivityBlock, ActivityHead, ActivityReading, ActivitySink, ActivityText } from "./sinks.ts";
export { type MemorySink, memorySink, storageSink } from "./sinks.ts";
