export { skeletonOf } from "./confusables.ts";
export { type DisplayOptions, display } from "./escape.ts";
export { type HostInspection, inspectHost } from "./inspect-host.ts";
export { lookalike } from "./lookalike.ts";
export { type Finding, type FindingKind, findSuspicious, type SuspicionOptions } from "./suspicious.ts";
export { type DisplayValueOptions, displayValue } from "./value.ts";
