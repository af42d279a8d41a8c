import type { JsonObject } from "../../jsonrpc/message.ts";
import type { JsonSchema } from "../../schema/infer.ts";
import type { CacheHints, Icon, Meta, PaginatedResult, Result } from "./base.ts";
import type { ContentBlock } from "./content.ts";
import type { RetryParams } from "./questions.ts";
import type { TaskAugmentedParams } from "./tasks.ts";

export type { JsonSchema };

/** A JSON Schema whose root describes an object. */
export interface ObjectSchema extends JsonSchema {
  type: "object";
  properties?: { [name: string]: JsonSchema | boolean };
  required?: string[];
}

/** Hints on what a tool does; not to be trusted unless its server is. Unknown to the oldest revision. */
export interface ToolAnnotations {
  /** A name to show, after the tool's own `title`. */
  title?: string;
  /** It changes nothing; taken as false. */
  readOnlyHint?: boolean;
  /** It may destroy or overwrite; taken as true, and without meaning for a tool that only reads. */
  destructiveHint?: boolean;
  /** A second equal call changes nothing more; taken as false, and without meaning for a tool that only reads. */
  idempotentHint?: boolean;
  /** It reaches beyond a closed set of things; taken as true. */
  openWorldHint?: boolean;
}

/** How a tool may be called; 2025-11-25 only. */
export interface ToolExecution {
  /** Whether a call may or must be a task; taken as `forbidden`. */
  taskSupport?: "forbidden" | "optional" | "required";
}

/** A tool as a server lists it. */
export interface Tool {
  name: string;
  /** The name to show; unknown to the two oldest revisions. */
  title?: string;
  description?: string;
  inputSchema: ObjectSchema;
  /** Describes `structuredContent`; its root is an object before 2026-07-28. Unknown to the two oldest revisions. */
  outputSchema?: JsonSchema;
  annotations?: ToolAnnotations;
  execution?: ToolExecution;
  /** Since 2025-11-25. */
  icons?: Icon[];
  _meta?: Meta;
}

/** A page of a server's tools. */
export interface ListToolsResult extends PaginatedResult, CacheHints {
  tools: Tool[];
}

/** The params of `tools/call`. */
export interface CallToolParams extends RetryParams, TaskAugmentedParams {
  name: string;
  arguments?: JsonObject;
}

/** What a tool yields. */
export interface CallToolResult extends Result {
  content: ContentBlock[];
  /** Any JSON value; an object only before 2026-07-28, and unknown to the two oldest revisions. */
  structuredContent?: unknown;
  /** The tool failed, and `content` tells the model why. */
  isError?: boolean;
}
