import type { LogLevel, NotificationParams, RequestParams } from "./base.ts";

/** The params of `logging/setLevel`; stateless revisions name the level in each request's `_meta` instead. */
export interface SetLevelParams extends RequestParams {
  level: LogLevel;
}

/** The params of `notifications/message`. */
export interface LogMessageParams extends NotificationParams {
  level: LogLevel;
  /** Which part of the server speaks. */
  logger?: string;
  /** Any JSON value. */
  data: unknown;
}
