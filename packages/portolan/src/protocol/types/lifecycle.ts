import type { CacheHints, Implementation, Meta, RequestParams, Result } from "./base.ts";
import type { ClientCapabilities, ServerCapabilities } from "./capabilities.ts";

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
