export type { AuthChallenge, AuthorizedRequest } from "./account.ts";
export { openBrowser } from "./browser.ts";
export { AuthFailure, LoginRequired } from "./errors.ts";
export { type FileStoreOptions, fileStore } from "./file-store.ts";
export {
  type ClientCredentialsOptions,
  clientCredentials,
  type EnterpriseOptions,
  enterpriseManaged,
  type Jwk,
  type MachineGrant,
  type WorkloadOptions,
  workloadIdentity,
} from "./grants.ts";
export { type LoopbackOptions, loopback } from "./loopback.ts";
export { type OAuth, type OAuthEvent, type OAuthOptions, oauth } from "./oauth.ts";
export { type PasteOptions, paste } from "./paste.ts";
export { type DeferredRedirect, deferred, type Redirect, type RedirectAttempt } from "./redirect.ts";
export type { ClientQuestion, KnownClient, RegistrationOptions } from "./registration.ts";
export type { OAuthStep } from "./steps.ts";
export { type CredentialStore, type ExclusiveOptions, memoryStore, type StoreInOptions, storeIn } from "./store.ts";
