export { isPublicAddress } from "./address.ts";
export { checkWebAddress } from "./check-address.ts";
export type { FetchPolicy, SafeFetch, SafeFetchInit } from "./policy.ts";
export { checkResolvedAddress, createSafeFetch } from "./safe-fetch.ts";
