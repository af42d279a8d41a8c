export type {
  PersonalAccounts as GithubAccounts,
  ServiceLimits as GithubLimits,
  ServiceOptions as GithubOptions,
  ServiceSignIn as GithubSignIn,
  SignInOptions as GithubSignInOptions,
} from "portolan-server-kit/service";
export { createGithub } from "./server.ts";
export { githubSignIn } from "./sign-in.ts";
