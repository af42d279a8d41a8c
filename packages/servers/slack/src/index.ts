export type {
  PersonalAccounts as SlackAccounts,
  ServiceLimits as SlackLimits,
  ServiceOptions as SlackOptions,
} from "portolan-server-kit/service";
export { createSlack } from "./server.ts";
