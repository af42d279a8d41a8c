export { PortolanError, type PortolanErrorCode } from "../errors.ts";
export { RpcError } from "../jsonrpc/message.ts";
export type {
  AnyTools,
  ArgumentsOf,
  Change,
  Client,
  ListOptions,
  OutputOf,
  ServerProfile,
  ToolsOf,
  TypedResult,
  Watch,
  WatchFilter,
} from "./api.ts";
export { createResponseCache, type ResponseCache, type ResponseCacheOptions } from "./cache.ts";
export type { Link, LinkEvents, Sink } from "./channel-link.ts";
export { channelLink } from "./channel-link.ts";
export { connect, type Target } from "./connect.ts";
export { type Clock, systemClock } from "./deadlines.ts";
export { CallFailure } from "./failures.ts";
export { checkFormAnswer } from "./form-answer.ts";
export type { AuthRequest, Challenge, HttpAuth, HttpHeaders } from "./http/options.ts";
export type {
  Answers,
  AskingCallOptions,
  CallOptions,
  CommandTarget,
  ConnectOptions,
  EraPolicy,
  Progress,
  QuestionContext,
  Timeouts,
} from "./options.ts";
