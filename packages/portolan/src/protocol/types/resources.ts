import type { Annotations, CacheHints, Icon, Meta, PaginatedResult, Result } from "./base.ts";
import type { RetryParams } from "./questions.ts";

/** A resource in a server's list. */
export interface Resource {
  uri: string;
  name: string;
  /** The name for people. Since 2025-06-18. */
  title?: string;
  description?: string;
  mimeType?: string;
  /** The size in bytes before any encoding. */
  size?: number;
  annotations?: Annotations;
  /** Since 2025-11-25. */
  icons?: Icon[];
  _meta?: Meta;
}

/** Resources whose URIs follow one RFC 6570 template. */
export interface ResourceTemplate {
  uriTemplate: string;
  name: string;
  /** The name for people. Since 2025-06-18. */
  title?: string;
  description?: string;
  /** Only if all resources of the template have it. */
  mimeType?: string;
  annotations?: Annotations;
  /** Since 2025-11-25. */
  icons?: Icon[];
  _meta?: Meta;
}

/** Contents of a resource in text. */
export interface TextResourceContents {
  uri: string;
  mimeType?: string;
  text: string;
  _meta?: Meta;
}

/** Contents of a resource in bytes. */
export interface BlobResourceContents {
  uri: string;
  mimeType?: string;
  /** The bytes in base64. */
  blob: string;
  _meta?: Meta;
}

/** Contents of a resource or of one of its parts. `text` or `blob` distinguishes them. */
export type ResourceContents = TextResourceContents | BlobResourceContents;

/** The result of `resources/list`: one page. */
export interface ListResourcesResult extends PaginatedResult, CacheHints {
  resources: Resource[];
}

/** The result of `resources/templates/list`: one page. */
export interface ListResourceTemplatesResult extends PaginatedResult, CacheHints {
  resourceTemplates: ResourceTemplate[];
}

/** The params of `resources/read`. */
export interface ReadResourceParams extends RetryParams {
  uri: string;
}

/** The result of `resources/read`. A resource with parts has several contents. */
export interface ReadResourceResult extends Result, CacheHints {
  contents: ResourceContents[];
}
