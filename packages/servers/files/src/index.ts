export { createFiles } from "./files.ts";
export type { FilesOptions, Limits } from "./options.ts";
