export { ConfirmedChanges } from "./changes.ts";
export {
  type ServiceCall,
  ServiceClient,
  type ServiceClientOptions,
  ServiceError,
  type ServiceLimits,
  type ServiceValues,
} from "./client.ts";
export { fromCursor, nextPageOf, toCursor } from "./pages.ts";
export { path, segments } from "./path.ts";
export {
  failureOfStatus,
  retryAfter,
  type Service,
  type ServiceFailure,
  type ServiceResponse,
  settingsFrom,
  toApi,
} from "./service.ts";
export {
  type AccountHolder,
  type CallerContext,
  fixedToken,
  noToken,
  type PersonalAccounts,
  personalTokens,
  type TokenSource,
} from "./tokens.ts";
export { type WatchedVersion, watchVersion } from "./watch.ts";
