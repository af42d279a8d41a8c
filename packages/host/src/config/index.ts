export type {
  ConfigFormat,
  ConfigInput,
  ConfigLevel,
  ConfigScope,
  ConfiguredCommand,
  ConfiguredHttp,
  ConfiguredOAuth,
  ConfiguredServer,
  ConfiguredTarget,
  LoadedEnvFile,
  MissingValue,
  ParsedConfig,
  RawEntry,
} from "./configured.ts";
export { type EditOptions, editConfig } from "./edit.ts";
export { type ExpandOptions, expandEntry } from "./expand.ts";
export { type MergedEntries, mergeEntries, type ShadowedEntry } from "./merge.ts";
export { type ParseOptions, parseConfig } from "./parse.ts";
export {
  describeForTrust,
  type PreviousTrust,
  type TrustChange,
  type TrustLine,
  type TrustSubject,
  trustDigest,
  trustPlace,
} from "./trust.ts";
export { TrustHistory } from "./trust-history.ts";
