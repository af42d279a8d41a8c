export type { Introspection, Issuer } from "./issuers.ts";
export {
  type Asked,
  type GuardedRequest,
  type ProtectOptions,
  protect,
  type SentAway,
  type TokenHolder,
  type TokenProtection,
} from "./protect.ts";
export type { Claims } from "./token-checks.ts";
