export { createEverything, type EverythingOptions } from "./server.ts";
