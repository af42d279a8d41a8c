export type {
  PersonalAccounts as SlackAccounts,
  ServiceLimits as SlackLimits,
  ServiceOptions as SlackOptions,
  ServiceSignIn as SlackSignIn,
  SignInOptions as SlackSignInOptions,
} from "portolan-server-kit/service";
export { createSlack } from "./server.ts";
export { slackSignIn } from "./sign-in.ts";
