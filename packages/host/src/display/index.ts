export { type HostInspection, inspectHost } from "./address.ts";
export { type DisplayOptions, type DisplayValueOptions, display, displayValue } from "./escape.ts";
export {
  findSuspicious,
  lookalike,
  type SuspicionKind,
  type SuspicionOptions,
  type SuspiciousText,
  skeletonOf,
} from "./suspicious.ts";
