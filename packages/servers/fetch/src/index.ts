export type { FetchOptions } from "./options.ts";
export { createFetch } from "./server.ts";
