export { type Authority, createAuthority, type GrantFilter, type ServiceAccounts } from "./create.ts";
export { authorityKeys, type KeyManager, type KeyManagerOptions, type SigningKey } from "./keys.ts";
export type { AuthorityListener } from "./listener.ts";
export type {
  AuthorityEvent,
  AuthorityOptions,
  KnownClient,
  ProtectedResource,
  RegistrationOptions,
} from "./options.ts";
export { hashPassword } from "./passwords.ts";
export {
  type JsonMembers,
  type UpstreamEndpoints,
  type UpstreamOptions,
  type UpstreamSignIn,
  upstream,
} from "./upstream/options.ts";
export {
  type DevelopmentSignIn,
  developmentUser,
  type PasswordSignIn,
  type Person,
  type SignIn,
  usersIn,
} from "./users.ts";
