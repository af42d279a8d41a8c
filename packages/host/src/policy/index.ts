export {
  argumentsDigest,
  createGrants,
  type Grant,
  type GrantChange,
  type GrantKind,
  type GrantQuery,
  type Grants,
  type GrantsOptions,
  type NewGrant,
} from "./grants.ts";
export {
  type ChangedDefinition,
  canonicalDefinition,
  createPins,
  type DefinitionChange,
  definitionDigest,
  diffDefinitions,
  type PinnedServer,
  type PinReport,
  type Pins,
  type PinsOptions,
  renderChanges,
} from "./pins.ts";
export type { ArgumentTest, Caution, Decision, Effect, Policy, PolicyCall, Rule } from "./policy.ts";
export { compilePolicy, hintsOf, type ToolHints } from "./policy.ts";
