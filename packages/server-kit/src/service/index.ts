export { ServiceAccess, type ServiceOptions } from "./access.ts";
export { ConfirmedChanges } from "./changes.ts";
export {
  type ServiceCall,
  ServiceClient,
  type ServiceClientOptions,
  ServiceError,
  type ServiceValues,
} from "./client.ts";
export { bytesOf, fileInput, shownOf, type WrittenFile } from "./files.ts";
export { defaultServiceLimits, type ServiceLimits } from "./limits.ts";
export { fromCursor, nextPageOf, toCursor } from "./pages.ts";
export { path, segments } from "./path.ts";
export {
  completer,
  type FindSuggestions,
  followed,
  type Known,
  reader,
  readFor,
  type VersionOf,
} from "./resources.ts";
export {
  failureOfStatus,
  retryAfter,
  type Service,
  type ServiceFailure,
  type ServiceResponse,
  settingsFrom,
  toApi,
} from "./service.ts";
export type { ServiceSignIn, SignInOptions } from "./sign-in.ts";
export {
  type AccountHolder,
  type CallerContext,
  fixedToken,
  noToken,
  type PersonalAccounts,
  personalTokens,
  type SignInPage,
  type TokenSource,
} from "./tokens.ts";
export {
  addTools,
  cut,
  type ListPage,
  type ListTool,
  listTool,
  type PageRequest,
  serviceAnnotations,
  withLink,
} from "./tools.ts";
export { type WatchedVersion, watchVersion } from "./watch.ts";
