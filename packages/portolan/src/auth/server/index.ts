export type { Claims } from "./claims.ts";
export type { Introspection } from "./introspection.ts";
export type { Issuer } from "./issuer.ts";
export {
  type Asked,
  type GuardedRequest,
  type ProtectOptions,
  protect,
  type SentAway,
  type TokenHolder,
  type TokenProtection,
} from "./protect.ts";
