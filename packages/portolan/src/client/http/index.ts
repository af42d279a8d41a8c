export { HttpFailure } from "./http-failure.ts";
export { http } from "./link.ts";
export type { Challenge, HttpHeaders, HttpLink, HttpLinkOptions, OutgoingRequest } from "./options.ts";
