import type { JsonObject } from "../../jsonrpc/message.ts";
import type { CacheHints, Implementation, Meta, RequestParams, Result } from "./base.ts";

/** The params of `initialize`; stateful revisions only. */
export interface InitializeParams extends RequestParams {
  /** The newest that the client would speak. */
  protocolVersion: string;
  capabilities: ClientCapabilities;
  clientInfo: Implementation;
}

/** The result of `initialize`; stateful revisions only. */
export interface InitializeResult {
  /** The one that both will speak, or the client hangs up. */
  protocolVersion: string;
  capabilities: ServerCapabilities;
  serverInfo: Implementation;
  /** How to use the server, for the model. */
  instructions?: string;
  _meta?: Meta;
}

/** The result of `server/discover`, which names the server in its `_meta`; stateless revisions only. */
export interface DiscoverResult extends Result, CacheHints {
  supportedVersions: string[];
  capabilities: ServerCapabilities;
  /** How to use the server, for the model. */
  instructions?: string;
}

/** The `data` of the error that refuses a protocol version. */
export interface UnsupportedVersionData {
  supported: string[];
  requested: string;
}

/** Capabilities outside the core by name, each with settings of its own. */
export interface NamedCapabilities {
  [name: string]: JsonObject;
}

/** What a client can do; told once at initialization, or in the `_meta` of each request. */
export interface ClientCapabilities {
  experimental?: NamedCapabilities;
  /** Part of the protocol since 2026-07-28, sent by some clients on older revisions too. */
  extensions?: NamedCapabilities;
  /** Stateless revisions know no `listChanged`. */
  roots?: { listChanged?: boolean };
  /** Both members since 2025-11-25. */
  sampling?: { tools?: JsonObject; context?: JsonObject };
  /** Since 2025-06-18; modes since 2025-11-25, where an empty object means forms only. */
  elicitation?: { form?: JsonObject; url?: JsonObject };
  tasks?: ClientTasksCapability;
}

/** Which of a server's requests a client can run as tasks; 2025-11-25 only. */
export interface ClientTasksCapability {
  list?: JsonObject;
  cancel?: JsonObject;
  requests?: { sampling?: { createMessage?: JsonObject }; elicitation?: { create?: JsonObject } };
}

/** What a server can do; told at initialization or by `server/discover`. */
export interface ServerCapabilities {
  experimental?: NamedCapabilities;
  /** Part of the protocol since 2026-07-28, sent by some servers on older revisions too. */
  extensions?: NamedCapabilities;
  logging?: JsonObject;
  /** The oldest revision has the method without the capability. */
  completions?: JsonObject;
  prompts?: { listChanged?: boolean };
  resources?: { subscribe?: boolean; listChanged?: boolean };
  tools?: { listChanged?: boolean };
  tasks?: ServerTasksCapability;
}

/** Which of a client's requests a server can run as tasks; 2025-11-25 only. */
export interface ServerTasksCapability {
  list?: JsonObject;
  cancel?: JsonObject;
  requests?: { tools?: { call?: JsonObject } };
}

/** The `data` of the error that a request needs capabilities its client did not declare; stateless revisions only. */
export interface MissingCapabilityData {
  requiredCapabilities: ClientCapabilities;
}
