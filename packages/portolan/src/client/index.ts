export { PortolanError, type PortolanErrorCode } from "../errors.ts";
export { RpcError } from "../jsonrpc/message.ts";
export type { Answers, QuestionContext } from "./answers.ts";
export type {
  AnyTools,
  ArgumentsOf,
  Change,
  Client,
  ListOptions,
  OutputOf,
  ToolsOf,
  TypedResult,
  Watch,
  WatchFilter,
} from "./api.ts";
export { createResponseCache, type ResponseCache, type ResponseCacheOptions } from "./cache.ts";
export { channelLink } from "./channel-link.ts";
export { type Clock, systemClock } from "./clock.ts";
export type { CommandTarget } from "./command.ts";
export { connect, type Target } from "./connect.ts";
export { CallFailure } from "./failures.ts";
export { checkFormAnswer } from "./form-answer.ts";
export type { AuthRequest, Challenge, HttpAuth, HttpHeaders } from "./http/options.ts";
export type { Link, LinkEvents, Sink } from "./link.ts";
export type { AskingCallOptions, CallOptions, ConnectOptions, EraPolicy, Progress, Timeouts } from "./options.ts";
export type { ServerProfile } from "./profile.ts";
