import { AnthropicReader } from "./anthropic/reader.ts";
import { toMessagesRequest } from "./anthropic/request.ts";
import { exchange } from "./http/exchange.ts";
import type { ProviderOptions } from "./http/options.ts";
import { createProvider } from "./http/provider.ts";
import type { Model, ModelRequest } from "./model.ts";
import { checkNeeds, needsOf } from "./needs.ts";

/** The version of the API, which is older than MCP and no revision of it. */
const apiVersion = ["2023", "06", "01"].join("-");

export interface AnthropicOptions extends ProviderOptions {
  /** What stands before `/messages`; `https://api.anthropic.com/v1` unless given. */
  readonly baseUrl?: string;
  /** The version of the API. */
  readonly version?: string;
}

/** A model behind the Messages API. */
export function anthropic(options: AnthropicOptions): Model {
  const { model, apiKey, traits, capabilities: stated, version = apiVersion } = options;
  const key = { "anthropic-version": version, ...(apiKey !== undefined && { "x-api-key": apiKey }) };
  const provider = createProvider(options, options.baseUrl ?? "https://api.anthropic.com/v1", "/messages", key);
  const capabilities = { tools: true, images: true, ...stated };
  const id = options.id ?? model;
  return {
    id,
    capabilities,
    ...(traits !== undefined && { traits }),
    async *stream(request: ModelRequest) {
      checkNeeds({ id, capabilities }, needsOf(request));
      const body = toMessagesRequest(request, { model, capabilities, extra: options.extra });
      const passed = request.metadata && options.passMetadata?.(request.metadata);
      yield* exchange(provider, request, { ...passed, ...body }, () => new AnthropicReader(provider, request, model));
    },
  };
}
