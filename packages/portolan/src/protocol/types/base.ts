/** Extra information beside a message or an object: keys are names that each side may define, most of them prefixed. */
export interface Meta {
  [key: string]: unknown;
}

/** The `_meta` of a request; stateless peers also describe themselves here, under keys of the protocol's own prefix. */
export interface RequestMeta extends Meta {
  /** Asks for progress notifications that carry this token. */
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
  /** Written by stateless revisions only; absent means the same. */
  resultType?: "complete";
}

/** The result of a request that asks for nothing but to be done. */
export interface EmptyResult {
  _meta?: Meta;
}

/** Names the request that a progress notification belongs to; the requester chooses it. */
export type ProgressToken = string | number;

/** An opaque place in a list; the empty string is a cursor like any other. */
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

/** Who may be served a kept copy of a result. */
export type CacheScope = "public" | "private";

/** How long and for whom a result may be kept; stateless revisions always send both. */
export interface CacheHints {
  ttlMs?: number;
  cacheScope?: CacheScope;
}

/** Who speaks in a conversation with a model. */
export type Role = "user" | "assistant";

/** How severe a log message is, from least to most: the names of RFC 5424. */
export type LogLevel = "debug" | "info" | "notice" | "warning" | "error" | "critical" | "alert" | "emergency";

/** Hints on how a piece of content may be used or shown. */
export interface Annotations {
  audience?: Role[];
  /** From 0 (may be left out) to 1 (must be there). */
  priority?: number;
  /** An ISO 8601 moment; unknown to the two oldest revisions. */
  lastModified?: string;
}

/** An image that stands for something in a user interface. */
export interface Icon {
  /** An `https:` or `data:` address. */
  src: string;
  mimeType?: string;
  /** Such as `48x48`, or `any` for an image that scales. */
  sizes?: string[];
  theme?: "light" | "dark";
}

/** The name and version of a client or a server. */
export interface Implementation {
  name: string;
  version: string;
  /** The name to show; unknown to the two oldest revisions. */
  title?: string;
  /** Since 2025-11-25. */
  description?: string;
  /** Since 2025-11-25. */
  websiteUrl?: string;
  /** Since 2025-11-25. */
  icons?: Icon[];
}
