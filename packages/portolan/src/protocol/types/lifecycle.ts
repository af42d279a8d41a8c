import type { JsonObject } from "../../jsonrpc/message.ts";
import type { CacheHints, Implementation, Meta, RequestParams, Result } from "./base.ts";

/** The params of `initialize`. Stateful revisions only. */
export interface InitializeParams extends RequestParams {
  /** The newest version that the client supports. */
  protocolVersion: string;
  capabilities: ClientCapabilities;
  clientInfo: Implementation;
}

/** The result of `initialize`. Stateful revisions only. */
export interface InitializeResult {
  /** The version for this session. A client that does not support it disconnects. */
  protocolVersion: string;
  capabilities: ServerCapabilities;
  serverInfo: Implementation;
  /** Instructions for the model on how to use the server. */
  instructions?: string;
  _meta?: Meta;
}

/** The result of `server/discover`, with the server's name in `_meta`. Stateless revisions only. */
export interface DiscoverResult extends Result, CacheHints {
  supportedVersions: string[];
  capabilities: ServerCapabilities;
  /** Instructions for the model on how to use the server. */
  instructions?: string;
}

/** The `data` of the error for an unsupported protocol version. */
export interface UnsupportedVersionData {
  supported: string[];
  requested: string;
}

/** Settings of capabilities outside the core, by name. */
export interface NamedCapabilities {
  [name: string]: JsonObject;
}

/** The capabilities of a client, declared in `initialize` or in the `_meta` of each request. */
export interface ClientCapabilities {
  experimental?: NamedCapabilities;
  /** Since 2026-07-28; some clients send it in older revisions too. */
  extensions?: NamedCapabilities;
  /** `listChanged`: stateful revisions only. */
  roots?: { listChanged?: boolean };
  /** `tools` and `context`: since 2025-11-25. */
  sampling?: { tools?: JsonObject; context?: JsonObject };
  /** Since 2025-06-18. `form` and `url`: since 2025-11-25. An empty object means forms only. */
  elicitation?: { form?: JsonObject; url?: JsonObject };
  tasks?: ClientTasksCapability;
}

/** The server's requests that a client can run as tasks. 2025-11-25 only. */
export interface ClientTasksCapability {
  list?: JsonObject;
  cancel?: JsonObject;
  requests?: { sampling?: { createMessage?: JsonObject }; elicitation?: { create?: JsonObject } };
}

/** The capabilities of a server, declared in the result of `initialize` or `server/discover`. */
export interface ServerCapabilities {
  experimental?: NamedCapabilities;
  /** Since 2026-07-28; some servers send it in older revisions too. */
  extensions?: NamedCapabilities;
  logging?: JsonObject;
  /** Since 2025-03-26; 2024-11-05 has the method without the capability. */
  completions?: JsonObject;
  prompts?: { listChanged?: boolean };
  resources?: { subscribe?: boolean; listChanged?: boolean };
  tools?: { listChanged?: boolean };
  tasks?: ServerTasksCapability;
}

/** The client's requests that a server can run as tasks. 2025-11-25 only. */
export interface ServerTasksCapability {
  list?: JsonObject;
  cancel?: JsonObject;
  requests?: { tools?: { call?: JsonObject } };
}

/** The `data` of the error for a capability that the client did not declare. Stateless revisions only. */
export interface MissingCapabilityData {
  requiredCapabilities: ClientCapabilities;
}
