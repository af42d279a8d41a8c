export type { BodyProblem, EventStream, HttpHandler, HttpHeaders, HttpReply, HttpRequest } from "./adapter.ts";
export type { CardHeader, CardInput, CardRemote, CardRepository, ServerCard, ServerCardOptions } from "./card.ts";
export type { NodeListener, NodeRequest, NodeResponse } from "./node.ts";
export type { CallerUsage, CallInProgress, EndpointUsage } from "./observe.ts";
export type {
  AccessControl,
  AccessRequest,
  HttpLimits,
  Refusal,
  RefusalReport,
  RefusedLimit,
  ServeHttpOptions,
  SessionOptions,
  TrustedProxy,
  Verifier,
} from "./options.ts";
export { type HttpEndpoint, type ListenSettings, serveHttp } from "./serve-http.ts";
