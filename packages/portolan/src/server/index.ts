export { RpcError } from "../jsonrpc/message.ts";
export type {
  Complete,
  Extended,
  InputRequired,
  Outcome,
  Peer,
  PreparedResult,
  Question,
  Revision,
} from "../protocol/revision.ts";
export type { AddTool, NoTools, ToolTypes } from "../protocol/typed-tools.ts";
export type { JsonSchema, Schema, StandardSchema } from "../schema/infer.ts";
export { withJsonSchema } from "../schema/infer.ts";
export { type ExplicitQuestions, inputRequired } from "./ask.ts";
export type { Context, ElicitAnswer, FormQuestion, RequestContext, Visit } from "./context.ts";
export type {
  ArgumentDefinition,
  Completer,
  ErrorReport,
  FullResult,
  PromptArguments,
  PromptDefinition,
  PromptReturn,
  ReadReturn,
  ResourceDefinition,
  ServerInfo,
  ServerOptions,
  TemplateDefinition,
  TemplateValues,
  ToolDefinition,
  ToolReturn,
  Watch,
} from "./definition.ts";
export type { Exchange, Principal } from "./exchange.ts";
export type { ExtensionParts, ExtraMethod, FeatureKind, Middleware, ServerExtension } from "./extension.ts";
export { type Form, form } from "./form.ts";
export { type LiveServer, live } from "./live.ts";
export { type ServeChannelOptions, type Serving, serveChannel } from "./serve-channel.ts";
export { createServer, type Served, type Server } from "./server.ts";
export type { Audience, Topics } from "./subscriptions.ts";
export { ToolError } from "./tools.ts";
