// The types that TypeScript infers for a user's exports are named through this entry, so a program must have it.

export { PortolanError, type PortolanErrorCode } from "../errors.ts";
export type {} from "../index.ts";
export { RpcError } from "../jsonrpc/message.ts";
export type { NoTools, ToolsByName, ToolTypes } from "../protocol/typed-tools.ts";
export type {
  AnyTools,
  ArgumentsOf,
  Change,
  ChangeFilter,
  ChangeStream,
  Client,
  ListAllOptions,
  OutputOf,
  ServerProfile,
  StructuredOutput,
  ToolsOf,
  TypedResult,
} from "./api.ts";
export { createResponseCache, type ResponseCache, type ResponseCacheOptions } from "./cache.ts";
export type { Link, LinkEvents, LinkTap, ResponseSink } from "./channel-link.ts";
export { channelLink } from "./channel-link.ts";
export { type ConnectTarget, connect } from "./connect.ts";
export { type Clock, systemClock } from "./deadlines.ts";
export type {
  ClientExtension,
  ClientExtensionParts,
  ExtendedCall,
  ExtendedConnection,
  PreparedCall,
  ResultHandler,
  ResumedCall,
  WatchedMember,
} from "./extension.ts";
export { CallFailure } from "./failures.ts";
export { checkFormAnswer } from "./form-answer.ts";
export type { AuthRequest, Challenge, HttpAuth, HttpHeaders } from "./http/options.ts";
export type {
  Answers,
  CallOptions,
  CommandTarget,
  ConnectOptions,
  EraPolicy,
  InteractiveCallOptions,
  ObservedRequest,
  ObservedSession,
  ObservedTransport,
  Progress,
  QuestionContext,
  QuestionObservation,
  RawRequestOptions,
  RequestObservation,
  RequestObserver,
  RequestOutcome,
  Tap,
  TapEvent,
  Timeouts,
  ToolCallOptions,
} from "./options.ts";
