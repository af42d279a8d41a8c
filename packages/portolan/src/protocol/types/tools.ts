import type { JsonObject } from "../../jsonrpc/message.ts";
import type { JsonSchema } from "../../schema/infer.ts";
import type { CacheHints, Icon, Meta, PaginatedResult, Result } from "./base.ts";
import type { ContentBlock } from "./content.ts";
import type { RetryParams } from "./questions.ts";
import type { TaskAugmentedParams } from "./tasks.ts";

export type { JsonSchema };

/** A JSON Schema for an object. */
export interface ObjectSchema extends JsonSchema {
  type: "object";
  properties?: { [name: string]: JsonSchema | boolean };
  required?: string[];
}

/** Hints on what a tool does. Trust them only if you trust the server. Since 2025-03-26. */
export interface ToolAnnotations {
  /** A name for people. The tool's own `title` comes first. */
  title?: string;
  /** True if the tool changes nothing. Default: false. */
  readOnlyHint?: boolean;
  /** True if the tool may delete or overwrite. Default: true. Ignored for a read-only tool. */
  destructiveHint?: boolean;
  /** True if a repeated call changes nothing more. Default: false. Ignored for a read-only tool. */
  idempotentHint?: boolean;
  /** True if the tool reaches an open world, such as the web. Default: true. */
  openWorldHint?: boolean;
}

/** Execution options of a tool. 2025-11-25 only. */
export interface ToolExecution {
  /** Calls as tasks. Default: "forbidden". */
  taskSupport?: "forbidden" | "optional" | "required";
}

/** A tool in a server's list. */
export interface Tool {
  name: string;
  /** The name for people. Since 2025-06-18. */
  title?: string;
  description?: string;
  inputSchema: ObjectSchema;
  /** The schema of `structuredContent`. For an object before 2026-07-28. Since 2025-06-18. */
  outputSchema?: JsonSchema;
  annotations?: ToolAnnotations;
  execution?: ToolExecution;
  /** Since 2025-11-25. */
  icons?: Icon[];
  _meta?: Meta;
}

/** The result of `tools/list`: one page. */
export interface ListToolsResult extends PaginatedResult, CacheHints {
  tools: Tool[];
}

/** The params of `tools/call`. */
export interface CallToolParams extends RetryParams, TaskAugmentedParams {
  name: string;
  arguments?: JsonObject;
}

/** The result of `tools/call`. */
export interface CallToolResult extends Result {
  content: ContentBlock[];
  /** Any JSON value; before 2026-07-28 an object. Since 2025-06-18. */
  structuredContent?: unknown;
  /** True if the tool failed. `content` then explains the failure to the model. */
  isError?: boolean;
}
