export type {
  Activity,
  ActivityDamage,
  ActivityEntry,
  ActivityKind,
  ActivityLog,
  ActivityQuery,
  ActivityVerdict,
} from "./entry.ts";
export { type ActivityFileOptions, openActivityFile, verifyActivityFile } from "./file.ts";
export { type ActivityOptions, openActivity } from "./log.ts";
export { type MemorySink, memorySink } from "./memory-sink.ts";
export { createRedactor, type Redactor, redact } from "./redact.ts";
export type { ActivityBlock, ActivityHead, ActivityReading, ActivitySink, ActivityText } from "./sink.ts";
export { storageSink } from "./sinks.ts";
