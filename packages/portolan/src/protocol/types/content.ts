import type { JsonObject } from "../../jsonrpc/message.ts";
import type { Annotations, Meta } from "./base.ts";
import type { Resource, ResourceContents } from "./resources.ts";

/** Text to a model or from one. */
export interface TextContent {
  type: "text";
  text: string;
  annotations?: Annotations;
  _meta?: Meta;
}

/** An image. */
export interface ImageContent {
  type: "image";
  /** The bytes in base64. */
  data: string;
  mimeType: string;
  annotations?: Annotations;
  _meta?: Meta;
}

/** Audio. Since 2025-03-26. */
export interface AudioContent {
  type: "audio";
  /** The bytes in base64. */
  data: string;
  mimeType: string;
  annotations?: Annotations;
  _meta?: Meta;
}

/** A link to a resource, which need not be in the server's list. Since 2025-06-18. */
export interface ResourceLink extends Resource {
  type: "resource_link";
}

/** The contents of a resource. */
export interface EmbeddedResource {
  type: "resource";
  resource: ResourceContents;
  annotations?: Annotations;
  _meta?: Meta;
}

/** A tool call of the model. In sampling only, since 2025-11-25. */
export interface ToolUseContent {
  type: "tool_use";
  /** The id of this call within the conversation. */
  id: string;
  name: string;
  input: JsonObject;
  _meta?: Meta;
}

/** The result of a tool call of the model. In sampling only, since 2025-11-25. */
export interface ToolResultContent {
  type: "tool_result";
  /** The `id` of the tool call. */
  toolUseId: string;
  content: ContentBlock[];
  /** Any JSON value. In 2025-11-25 an object. */
  structuredContent?: unknown;
  isError?: boolean;
  _meta?: Meta;
}

/** One block of content from a tool or a prompt. */
export type ContentBlock = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource;

/** One block of content of a message to or from a model. */
export type SamplingContent = TextContent | ImageContent | AudioContent | ToolUseContent | ToolResultContent;
