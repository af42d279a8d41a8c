export type {
  PersonalAccounts as AsanaAccounts,
  ServiceLimits as AsanaLimits,
  ServiceOptions as AsanaOptions,
  ServiceSignIn as AsanaSignIn,
  SignInOptions as AsanaSignInOptions,
} from "portolan-server-kit/service";
export { createAsana } from "./server.ts";
export { asanaSignIn } from "./sign-in.ts";
