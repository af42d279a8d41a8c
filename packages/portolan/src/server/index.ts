// The types that TypeScript infers for a user's exports are named through this entry, so a program must have it.
export type {} from "../index.ts";

export { RpcError } from "../jsonrpc/message.ts";
export type {
  AskableCapability,
  Complete,
  Extended,
  InputRequired,
  Outcome,
  Peer,
  PreparedResult,
  Revision,
} from "../protocol/revision.ts";
export type { AddTool, NoTools, ToolsByName, ToolTypes } from "../protocol/typed-tools.ts";
export type { JsonSchema, Schema, StandardSchema } from "../schema/infer.ts";
export { withJsonSchema } from "../schema/infer.ts";
export { type Form, form } from "./ask/form.ts";
export { ToolError } from "./call/call-tool.ts";
export type { Context, ElicitAnswer, ElicitForm, OpenUrl, RequestContext } from "./call/context.ts";
export type { Exchange, Principal } from "./call/exchange.ts";
export { type ExplicitQuestions, inputRequired } from "./call/exchange.ts";
export { type PagedList, pageOf } from "./call/page.ts";
export { type ServeChannelOptions, type ServedChannel, serveChannel } from "./channel/serve-channel.ts";
export type {
  ArgumentDefinition,
  Completer,
  ErrorReport,
  ExtensionOptions,
  FullResult,
  PromptArguments,
  PromptDefinition,
  PromptReturn,
  ReadReturn,
  ResourceDefinition,
  ResourceWatcher,
  ServerInfo,
  ServerOptions,
  TemplateDefinition,
  TemplateValues,
  ToolDefinition,
  ToolReturn,
} from "./define/definition.ts";
export { createServer, type LiveServer, live, type Servable, type Server } from "./define/server.ts";
export type {
  CustomMethod,
  DecoratedFeature,
  DetachableRequest,
  DetachedRun,
  DetachOptions,
  ExtendedServer,
  ExtensionParts,
  FeatureKind,
  ListenMember,
  Middleware,
  ServerExtension,
} from "./extension.ts";
export type { Audience, Topics } from "./subscribe/hub.ts";
