/** Metadata of a message or an object. Keys that the protocol does not reserve have a prefix of their owner's. */
export interface Meta {
  [key: string]: unknown;
}

/** The `_meta` of a request. Stateless peers also describe themselves here, under keys that the protocol reserves. */
export interface RequestMeta extends Meta {
  /** A token for progress notifications. If present, the receiver may send some. */
  progressToken?: ProgressToken;
}

/** The members that the params of every request may have. */
export interface RequestParams {
  _meta?: RequestMeta;
}

/** The members that the params of every notification may have. */
export interface NotificationParams {
  _meta?: Meta;
}

/** The members that every complete result of a server may have. */
export interface Result {
  _meta?: Meta;
  /** Stateless revisions only. Default: "complete". */
  resultType?: "complete";
}

/** The result of a request that returns no data. */
export interface EmptyResult {
  _meta?: Meta;
}

/** The id by which a progress notification names its request. The sender of the request chooses it. */
export type ProgressToken = string | number;

/** An opaque position in a list. The empty string is a cursor like any other. */
export type Cursor = string;

/** The params of a request for one page of a list. */
export interface PaginatedParams extends RequestParams {
  cursor?: Cursor;
}

/** A page of a list. */
export interface PaginatedResult extends Result {
  /** Absent on the last page. */
  nextCursor?: Cursor;
}

/** The callers that may get a cached result: all, or only the one that asked. */
export type CacheScope = "public" | "private";

/** Cache lifetime and scope of a result. Stateless revisions always send both. */
export interface CacheHints {
  ttlMs?: number;
  cacheScope?: CacheScope;
}

/** The sender of a message in a conversation with a model. */
export type Role = "user" | "assistant";

/** The severity of a log message (RFC 5424), from the least to the most severe. */
export type LogLevel = "debug" | "info" | "notice" | "warning" | "error" | "critical" | "alert" | "emergency";

/** Hints on how to use or show content. */
export interface Annotations {
  audience?: Role[];
  /** From 0 (optional) to 1 (required). */
  priority?: number;
  /** An ISO 8601 timestamp. Since 2025-06-18. */
  lastModified?: string;
}

/** An image for user interfaces. */
export interface Icon {
  /** An `https:` or `data:` URI. */
  src: string;
  mimeType?: string;
  /** Sizes such as `48x48`, or `any` for an image that scales. */
  sizes?: string[];
  theme?: "light" | "dark";
}

/** The name and version of a client or a server. */
export interface Implementation {
  name: string;
  version: string;
  /** The name for people. Since 2025-06-18. */
  title?: string;
  /** Since 2025-11-25. */
  description?: string;
  /** Since 2025-11-25. */
  websiteUrl?: string;
  /** Since 2025-11-25. */
  icons?: Icon[];
}
