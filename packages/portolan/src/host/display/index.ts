export { type HostInspection, inspectHost } from "./address.ts";
export { skeletonOf } from "./confusables.ts";
export { type DisplayOptions, display } from "./escape.ts";
export { lookalike } from "./lookalike.ts";
export { type Finding, type FindingKind, findSuspicious, type SuspicionOptions } from "./suspicious.ts";
export { type DisplayValueOptions, displayValue } from "./value.ts";
