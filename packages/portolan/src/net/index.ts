export { isPublicAddress } from "./address.ts";
export { checkWebAddress } from "./check.ts";
export type { FetchPolicy, SafeFetch, SafeFetchInit } from "./policy.ts";
export { checkResolvedAddress, createSafeFetch } from "./safe-fetch.ts";
