export type {
  PersonalAccounts as GithubAccounts,
  ServiceLimits as GithubLimits,
  ServiceOptions as GithubOptions,
} from "portolan-server-kit/service";
export { createGithub } from "./server.ts";
export { type GithubSignIn, type GithubSignInOptions, githubSignIn } from "./sign-in.ts";
