export type { SlackLimits, SlackOptions } from "./options.ts";
export { createSlack } from "./server.ts";
