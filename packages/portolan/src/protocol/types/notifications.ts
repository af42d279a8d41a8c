import type { RequestId } from "../../jsonrpc/message.ts";
import type { LogLevel, Meta, NotificationParams, ProgressToken, RequestParams, Result } from "./base.ts";

/** The params of `notifications/cancelled`. */
export interface CancelledParams extends NotificationParams {
  /** Optional on 2025-11-25 only. */
  requestId?: RequestId;
  reason?: string;
}

/** The params of `notifications/progress`. */
export interface ProgressParams extends NotificationParams {
  progressToken: ProgressToken;
  /** Grows with each notification; fractions are fine. */
  progress: number;
  total?: number;
  /** Unknown to the oldest revision. */
  message?: string;
}

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

/** From the least urgent to the most; the same on all revisions. */
export const logLevels: readonly LogLevel[] = [
  "debug",
  "info",
  "notice",
  "warning",
  "error",
  "critical",
  "alert",
  "emergency",
];

/** Which changes to hear of. */
export interface SubscriptionFilter {
  toolsListChanged?: boolean;
  promptsListChanged?: boolean;
  resourcesListChanged?: boolean;
  /** The addresses of the resources to watch. */
  resourceSubscriptions?: string[];
}

/** The params of `subscriptions/listen`; stateless revisions only. */
export interface ListenParams extends RequestParams {
  notifications: SubscriptionFilter;
}

/** The end of a `subscriptions/listen` by the server's choice; its `_meta` names the subscription. */
export interface ListenResult extends Result {
  _meta: Meta;
}

/** The params of `notifications/subscriptions/acknowledged`: the part of the filter that will be honoured. */
export interface SubscriptionsAcknowledgedParams extends NotificationParams {
  notifications: SubscriptionFilter;
}

/** The params of `resources/subscribe`; stateful revisions only. */
export interface SubscribeParams extends RequestParams {
  uri: string;
}

/** The params of `resources/unsubscribe`; stateful revisions only. */
export interface UnsubscribeParams extends RequestParams {
  uri: string;
}

/** The params of `notifications/resources/updated`. */
export interface ResourceUpdatedParams extends NotificationParams {
  /** May lie below the address that was asked for. */
  uri: string;
}
