import type { Meta, NotificationParams, RequestParams, Result } from "./base.ts";

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
