/** The sender of a message. */
export type Side = "client" | "server";

const names: { readonly [method: string]: readonly [message: string, result?: string] } = {
  initialize: ["InitializeRequest", "InitializeResult"],
  ping: ["PingRequest", "EmptyResult"],
  "server/discover": ["DiscoverRequest", "DiscoverResult"],
  "tools/list": ["ListToolsRequest", "ListToolsResult"],
  "tools/call": ["CallToolRequest", "CallToolResult"],
  "resources/list": ["ListResourcesRequest", "ListResourcesResult"],
  "resources/templates/list": ["ListResourceTemplatesRequest", "ListResourceTemplatesResult"],
  "resources/read": ["ReadResourceRequest", "ReadResourceResult"],
  "resources/subscribe": ["SubscribeRequest", "EmptyResult"],
  "resources/unsubscribe": ["UnsubscribeRequest", "EmptyResult"],
  "prompts/list": ["ListPromptsRequest", "ListPromptsResult"],
  "prompts/get": ["GetPromptRequest", "GetPromptResult"],
  "completion/complete": ["CompleteRequest", "CompleteResult"],
  "logging/setLevel": ["SetLevelRequest", "EmptyResult"],
  "subscriptions/listen": ["SubscriptionsListenRequest", "SubscriptionsListenResult"],
  "tasks/get": ["GetTaskRequest", "GetTaskResult"],
  "tasks/result": ["GetTaskPayloadRequest", "GetTaskPayloadResult"],
  "tasks/list": ["ListTasksRequest", "ListTasksResult"],
  "tasks/update": ["UpdateTaskRequest", "UpdateTaskResult"],
  "tasks/cancel": ["CancelTaskRequest", "CancelTaskResult"],
  "roots/list": ["ListRootsRequest", "ListRootsResult"],
  "sampling/createMessage": ["CreateMessageRequest", "CreateMessageResult"],
  "elicitation/create": ["ElicitRequest", "ElicitResult"],
  "notifications/initialized": ["InitializedNotification"],
  "notifications/cancelled": ["CancelledNotification"],
  "notifications/progress": ["ProgressNotification"],
  "notifications/message": ["LoggingMessageNotification"],
  "notifications/tools/list_changed": ["ToolListChangedNotification"],
  "notifications/prompts/list_changed": ["PromptListChangedNotification"],
  "notifications/resources/list_changed": ["ResourceListChangedNotification"],
  "notifications/resources/updated": ["ResourceUpdatedNotification"],
  "notifications/elicitation/complete": ["ElicitationCompleteNotification"],
  "notifications/subscriptions/acknowledged": ["SubscriptionsAcknowledgedNotification"],
  "notifications/roots/list_changed": ["RootsListChangedNotification"],
};

type Part = "request" | "notification" | "result";

/** The name of a message's or result's type in the official schemas; undefined for other methods. */
export function findDefinition(method: string, part: Part): string | undefined {
  return names[method]?.[part === "result" ? 1 : 0];
}

/** The name of a message's or result's type in the official schemas. */
export function definitionFor(method: string, part: Part): string {
  const name = findDefinition(method, part);
  if (name === undefined) throw new Error(`no schema type is known for the ${part} of ${method}`);
  return name;
}
