export type { GithubAccounts, GithubLimits, GithubOptions } from "./options.ts";
export { createGithub } from "./server.ts";
export { type GithubSignIn, type GithubSignInOptions, githubSignIn } from "./sign-in.ts";
