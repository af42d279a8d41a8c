export { canonicalDefinition, definitionDigest } from "./definition.ts";
export { type DefinitionChange, diffDefinitions, renderChanges } from "./diff.ts";
export {
  argumentsDigest,
  createGrants,
  type Grant,
  type GrantKind,
  type GrantQuery,
  type Grants,
  type GrantsOptions,
  type NewGrant,
} from "./grants.ts";
export { type Hints, hintsOf } from "./hints.ts";
export {
  type ChangedDefinition,
  createPins,
  type PinnedServer,
  type PinReport,
  type Pins,
  type PinsOptions,
} from "./pins.ts";
export { compilePolicy } from "./policy.ts";
export type { ArgumentTest, Caution, Decision, Effect, Policy, PolicyCall, Rule } from "./rule.ts";
