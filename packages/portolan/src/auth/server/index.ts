export type { Introspection, Issuer } from "./issuers.ts";
export {
  type GuardedRequest,
  type IssuerFailure,
  type ProtectOptions,
  protect,
  type Rejection,
  type RequestedAction,
  type TokenAccessControl,
  type TokenHolder,
} from "./protect.ts";
export type { Claims } from "./token-checks.ts";
