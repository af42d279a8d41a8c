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
  ParsedConfig,
  RawEntry,
  ReadEnvFile,
} from "./configured.ts";
export { type EditOptions, editConfig } from "./edit.ts";
export { type ExpandOptions, expandEntry } from "./expand.ts";
export { type Merged, mergeEntries, type Shadowed } from "./merge.ts";
export { type ParseOptions, parseConfig } from "./parse.ts";
export { describeForTrust, type TrustLine, type TrustSubject, trustDigest } from "./trust.ts";
