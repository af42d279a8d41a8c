import type { RequestId } from "../../jsonrpc/message.ts";
import type { LogLevel, Meta, NotificationParams, ProgressToken, RequestParams, Result } from "./base.ts";

/** The params of `notifications/cancelled`. */
export interface CancelledParams extends NotificationParams {
  /** Optional in 2025-11-25 only. */
  requestId?: RequestId;
  reason?: string;
}

/** The params of `notifications/progress`. */
export interface ProgressParams extends NotificationParams {
  progressToken: ProgressToken;
  /** Increases with each notification. May be a fraction. */
  progress: number;
  total?: number;
  /** Since 2025-03-26. */
  message?: string;
}

/** The params of `logging/setLevel`. Stateful revisions only; stateless ones carry the level in `_meta`. */
export interface SetLevelParams extends RequestParams {
  level: LogLevel;
}

/** The params of `notifications/message`. */
export interface LogMessageParams extends NotificationParams {
  level: LogLevel;
  /** The part of the server that logs. */
  logger?: string;
  /** Any JSON value. */
  data: unknown;
}

/** All log levels, from the least to the most severe. */
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

/** The changes that a subscription covers. */
export interface SubscriptionFilter {
  toolsListChanged?: boolean;
  promptsListChanged?: boolean;
  resourcesListChanged?: boolean;
  /** The URIs of the resources to watch. */
  resourceSubscriptions?: string[];
}

/** The params of `subscriptions/listen`. Stateless revisions only. */
export interface ListenParams extends RequestParams {
  notifications: SubscriptionFilter;
}

/** The result of a `subscriptions/listen` that the server ended. Its `_meta` names the subscription. */
export interface ListenResult extends Result {
  _meta: Meta;
}

/** The params of `notifications/subscriptions/acknowledged`: the part of the filter that the server supports. */
export interface SubscriptionsAcknowledgedParams extends NotificationParams {
  notifications: SubscriptionFilter;
}

/** The params of `resources/subscribe`. Stateful revisions only. */
export interface SubscribeParams extends RequestParams {
  uri: string;
}

/** The params of `resources/unsubscribe`. Stateful revisions only. */
export interface UnsubscribeParams extends RequestParams {
  uri: string;
}

/** The params of `notifications/resources/updated`. */
export interface ResourceUpdatedParams extends NotificationParams {
  /** May be a child of the URI in the subscription. */
  uri: string;
}
