export { type HostInspection, inspectHost } from "./address.ts";
export { type DisplayOptions, type DisplayValueOptions, display, displayValue } from "./escape.ts";
export {
  type Finding,
  type FindingKind,
  findSuspicious,
  lookalike,
  type SuspicionOptions,
  skeletonOf,
} from "./suspicious.ts";
