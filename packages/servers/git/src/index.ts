export type { GitLimits, GitOptions, Identity } from "./options.ts";
export { createGit } from "./server.ts";
