import type { JsonObject } from "../../jsonrpc/message.ts";
import type { Annotations, Meta } from "./base.ts";
import type { Resource, ResourceContents } from "./resources.ts";

/** Text, given to a model or made by one. */
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

/** A piece of sound; unknown to the oldest revision. */
export interface AudioContent {
  type: "audio";
  /** The bytes in base64. */
  data: string;
  mimeType: string;
  annotations?: Annotations;
  _meta?: Meta;
}

/** A resource named, not included; it need not be in the server's list, and the two oldest revisions do not know it. */
export interface ResourceLink extends Resource {
  type: "resource_link";
}

/** A resource included whole. */
export interface EmbeddedResource {
  type: "resource";
  resource: ResourceContents;
  annotations?: Annotations;
  _meta?: Meta;
}

/** A model's wish to call a tool; in sampling only, since 2025-11-25. */
export interface ToolUseContent {
  type: "tool_use";
  /** Names this call among those of the conversation. */
  id: string;
  name: string;
  input: JsonObject;
  _meta?: Meta;
}

/** What a tool that a model called has answered; in sampling only, since 2025-11-25. */
export interface ToolResultContent {
  type: "tool_result";
  /** The `id` of the call that this answers. */
  toolUseId: string;
  content: ContentBlock[];
  /** Any JSON value; an object only on 2025-11-25. */
  structuredContent?: unknown;
  isError?: boolean;
  _meta?: Meta;
}

/** One piece of what a tool or a prompt yields. */
export type ContentBlock = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource;

/** One piece of a message to or from a model. */
export type SamplingContent = TextContent | ImageContent | AudioContent | ToolUseContent | ToolResultContent;
