export type { FilesOptions, Limits } from "./options.ts";
export { createFiles } from "./server.ts";
