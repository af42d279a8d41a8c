import type {
  CallToolParams,
  CallToolResult,
  CancelledParams,
  CancelTaskParams,
  CancelTaskResult,
  CompleteParams,
  CompleteResult,
  CreateMessageParams,
  CreateMessageResult,
  DiscoverResult,
  ElicitationCompleteParams,
  ElicitParams,
  ElicitResult,
  EmptyResult,
  GetPromptParams,
  GetPromptResult,
  GetTaskParams,
  GetTaskPayloadParams,
  GetTaskPayloadResult,
  GetTaskResult,
  InitializeParams,
  InitializeResult,
  ListenParams,
  ListenResult,
  ListPromptsResult,
  ListResourcesResult,
  ListResourceTemplatesResult,
  ListRootsResult,
  ListTasksResult,
  ListToolsResult,
  LogMessageParams,
  NotificationParams,
  PaginatedParams,
  ProgressParams,
  ReadResourceParams,
  ReadResourceResult,
  RequestParams,
  ResourceUpdatedParams,
  SetLevelParams,
  SubscribeParams,
  SubscriptionsAcknowledgedParams,
  TaskStatusParams,
  UnsubscribeParams,
} from "./types/index.ts";

/**
 * All requests that a client of any revision may send, with the final result. Interim results (`InputRequiredResult`,
 * `CreateTaskResult`) are not listed. Params without a required member may be absent.
 */
export interface ClientRequests {
  initialize: { params: InitializeParams; result: InitializeResult };
  "server/discover": { params: RequestParams; result: DiscoverResult };
  ping: { params: RequestParams; result: EmptyResult };
  "tools/list": { params: PaginatedParams; result: ListToolsResult };
  "tools/call": { params: CallToolParams; result: CallToolResult };
  "resources/list": { params: PaginatedParams; result: ListResourcesResult };
  "resources/templates/list": { params: PaginatedParams; result: ListResourceTemplatesResult };
  "resources/read": { params: ReadResourceParams; result: ReadResourceResult };
  "resources/subscribe": { params: SubscribeParams; result: EmptyResult };
  "resources/unsubscribe": { params: UnsubscribeParams; result: EmptyResult };
  "prompts/list": { params: PaginatedParams; result: ListPromptsResult };
  "prompts/get": { params: GetPromptParams; result: GetPromptResult };
  "completion/complete": { params: CompleteParams; result: CompleteResult };
  "logging/setLevel": { params: SetLevelParams; result: EmptyResult };
  "subscriptions/listen": { params: ListenParams; result: ListenResult };
  "tasks/get": { params: GetTaskParams; result: GetTaskResult };
  "tasks/result": { params: GetTaskPayloadParams; result: GetTaskPayloadResult };
  "tasks/list": { params: PaginatedParams; result: ListTasksResult };
  "tasks/cancel": { params: CancelTaskParams; result: CancelTaskResult };
}

/** All requests that a server may send, as a message or as a question in a result. */
export interface ServerRequests {
  ping: { params: RequestParams; result: EmptyResult };
  "roots/list": { params: RequestParams; result: ListRootsResult };
  "sampling/createMessage": { params: CreateMessageParams; result: CreateMessageResult };
  "elicitation/create": { params: ElicitParams; result: ElicitResult };
  "tasks/get": { params: GetTaskParams; result: GetTaskResult };
  "tasks/result": { params: GetTaskPayloadParams; result: GetTaskPayloadResult };
  "tasks/list": { params: PaginatedParams; result: ListTasksResult };
  "tasks/cancel": { params: CancelTaskParams; result: CancelTaskResult };
}

/** The params of every notification that a client of any revision may send. */
export interface ClientNotifications {
  "notifications/initialized": NotificationParams;
  "notifications/cancelled": CancelledParams;
  "notifications/progress": ProgressParams;
  "notifications/roots/list_changed": NotificationParams;
  "notifications/tasks/status": TaskStatusParams;
}

/** The params of every notification that a server of any revision may send. */
export interface ServerNotifications {
  "notifications/cancelled": CancelledParams;
  "notifications/progress": ProgressParams;
  "notifications/message": LogMessageParams;
  "notifications/tools/list_changed": NotificationParams;
  "notifications/prompts/list_changed": NotificationParams;
  "notifications/resources/list_changed": NotificationParams;
  "notifications/resources/updated": ResourceUpdatedParams;
  "notifications/subscriptions/acknowledged": SubscriptionsAcknowledgedParams;
  "notifications/elicitation/complete": ElicitationCompleteParams;
  "notifications/tasks/status": TaskStatusParams;
}

/** The name of a request that a client may send. */
export type ClientMethod = keyof ClientRequests;

/** The name of a request that a server may send. */
export type ServerMethod = keyof ServerRequests;

/** The name of a notification that a client may send. */
export type ClientNotificationMethod = keyof ClientNotifications;

/** The name of a notification that a server may send. */
export type ServerNotificationMethod = keyof ServerNotifications;
