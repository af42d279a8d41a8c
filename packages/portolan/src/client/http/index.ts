export { HttpFailure } from "./failure.ts";
export { http } from "./link.ts";
export type {
  AuthRequest,
  Challenge,
  HttpAuth,
  HttpHeaders,
  HttpLink,
  HttpLinkOptions,
  OutgoingRequest,
} from "./options.ts";
