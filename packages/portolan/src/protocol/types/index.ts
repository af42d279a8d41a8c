export type {
  Annotations,
  CacheHints,
  CacheScope,
  Cursor,
  EmptyResult,
  Icon,
  Implementation,
  LogLevel,
  Meta,
  NotificationParams,
  PaginatedParams,
  PaginatedResult,
  ProgressToken,
  RequestMeta,
  RequestParams,
  Result,
  Role,
} from "./base.ts";
export type {
  ClientCapabilities,
  ClientTasksCapability,
  MissingCapabilityData,
  NamedCapabilities,
  ServerCapabilities,
  ServerTasksCapability,
} from "./capabilities.ts";
export type {
  CompleteParams,
  CompleteResult,
  Completion,
  CompletionReference,
  PromptReference,
  ResourceTemplateReference,
} from "./completion.ts";
export type {
  AudioContent,
  ContentBlock,
  EmbeddedResource,
  ImageContent,
  ResourceLink,
  SamplingContent,
  TextContent,
  ToolResultContent,
  ToolUseContent,
} from "./content.ts";
export type {
  BooleanSchema,
  ElicitAction,
  ElicitationCompleteParams,
  ElicitFormParams,
  ElicitParams,
  ElicitResult,
  ElicitUrlParams,
  ElicitValue,
  EnumSchema,
  FormSchema,
  LegacyTitledEnumSchema,
  MultiSelectEnumSchema,
  NumberSchema,
  PrimitiveSchema,
  SingleSelectEnumSchema,
  StringSchema,
  TitledMultiSelectEnumSchema,
  TitledOption,
  TitledSingleSelectEnumSchema,
  UntitledMultiSelectEnumSchema,
  UntitledSingleSelectEnumSchema,
  UrlElicitationRequiredData,
} from "./elicitation.ts";
export type {
  DiscoverResult,
  InitializeParams,
  InitializeResult,
  UnsupportedVersionData,
} from "./lifecycle.ts";
export type {
  LogMessageParams,
  SetLevelParams,
} from "./logging.ts";
export type {
  CancelledParams,
  ProgressParams,
} from "./notifications.ts";
export type {
  GetPromptParams,
  GetPromptResult,
  ListPromptsResult,
  Prompt,
  PromptArgument,
  PromptMessage,
} from "./prompts.ts";
export type {
  CreateMessageRequest,
  ElicitRequest,
  InputRequest,
  InputRequests,
  InputRequiredResult,
  InputResponse,
  InputResponses,
  ListRootsRequest,
  RetryParams,
} from "./questions.ts";
export type {
  BlobResourceContents,
  ListResourcesResult,
  ListResourceTemplatesResult,
  ReadResourceParams,
  ReadResourceResult,
  Resource,
  ResourceContents,
  ResourceTemplate,
  TextResourceContents,
} from "./resources.ts";
export type {
  ListRootsResult,
  Root,
} from "./roots.ts";
export type {
  CreateMessageParams,
  CreateMessageResult,
  ModelHint,
  ModelPreferences,
  SamplingMessage,
  ToolChoice,
} from "./sampling.ts";
export type {
  ListenParams,
  ListenResult,
  ResourceUpdatedParams,
  SubscribeParams,
  SubscriptionFilter,
  SubscriptionsAcknowledgedParams,
  UnsubscribeParams,
} from "./subscriptions.ts";
export type {
  CancelTaskParams,
  CancelTaskResult,
  CreateTaskResult,
  GetTaskParams,
  GetTaskPayloadParams,
  GetTaskPayloadResult,
  GetTaskResult,
  ListTasksResult,
  RelatedTaskMetadata,
  Task,
  TaskAugmentedParams,
  TaskMetadata,
  TaskStatus,
  TaskStatusParams,
} from "./tasks.ts";
export type {
  CallToolParams,
  CallToolResult,
  JsonSchema,
  ListToolsResult,
  ObjectSchema,
  Tool,
  ToolAnnotations,
  ToolExecution,
} from "./tools.ts";
