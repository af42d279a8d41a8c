export { type Authority, createAuthority, type Whose } from "./authority.ts";
export { type DevelopmentSignIn, developmentUser } from "./development.ts";
export type { AuthorityEvent } from "./events.ts";
export type { AuthorityListener } from "./listener.ts";
export type { AuthorityOptions, KnownClient, ProtectedResource, RegistrationOptions } from "./options.ts";
export { hashPassword } from "./passwords.ts";
export type { PasswordSignIn, Person, SignIn } from "./sign-in.ts";
export { type UpstreamEndpoints, type UpstreamOptions, type UpstreamSignIn, upstream } from "./upstream/options.ts";
export { usersIn } from "./users.ts";
