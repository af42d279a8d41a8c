export { createTime, type TimeOptions } from "./server.ts";
