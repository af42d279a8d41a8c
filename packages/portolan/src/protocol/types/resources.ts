import type { Annotations, CacheHints, Icon, Meta, PaginatedResult, Result } from "./base.ts";
import type { RetryParams } from "./questions.ts";

/** A resource as a server lists it. */
export interface Resource {
  uri: string;
  name: string;
  /** The name to show; unknown to the two oldest revisions. */
  title?: string;
  description?: string;
  mimeType?: string;
  /** The number of bytes before any encoding. */
  size?: number;
  annotations?: Annotations;
  /** Since 2025-11-25. */
  icons?: Icon[];
  _meta?: Meta;
}

/** A family of resources whose addresses follow one RFC 6570 template. */
export interface ResourceTemplate {
  uriTemplate: string;
  name: string;
  /** The name to show; unknown to the two oldest revisions. */
  title?: string;
  description?: string;
  /** Only when all of the family share it. */
  mimeType?: string;
  annotations?: Annotations;
  /** Since 2025-11-25. */
  icons?: Icon[];
  _meta?: Meta;
}

/** The contents of a resource that is text. */
export interface TextResourceContents {
  uri: string;
  mimeType?: string;
  text: string;
  _meta?: Meta;
}

/** The contents of a resource that is bytes. */
export interface BlobResourceContents {
  uri: string;
  mimeType?: string;
  /** The bytes in base64. */
  blob: string;
  _meta?: Meta;
}

/** The contents of a resource, or of one of its parts: told apart by `text` or `blob`. */
export type ResourceContents = TextResourceContents | BlobResourceContents;

/** A page of a server's resources. */
export interface ListResourcesResult extends PaginatedResult, CacheHints {
  resources: Resource[];
}

/** A page of a server's resource templates. */
export interface ListResourceTemplatesResult extends PaginatedResult, CacheHints {
  resourceTemplates: ResourceTemplate[];
}

/** The params of `resources/read`. */
export interface ReadResourceParams extends RetryParams {
  uri: string;
}

/** What was read: several contents when the resource has parts. */
export interface ReadResourceResult extends Result, CacheHints {
  contents: ResourceContents[];
}
