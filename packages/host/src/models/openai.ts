import { exchange } from "./http/exchange.ts";
import type { ProviderOptions } from "./http/options.ts";
import { createProvider } from "./http/provider.ts";
import type { Model, ModelRequest } from "./model.ts";
import { checkNeeds, needsOf } from "./needs.ts";
import { type OpenAiQuirks, quirksOf } from "./openai/quirks.ts";
import { OpenAiReader } from "./openai/reader.ts";
import { toChatRequest } from "./openai/request.ts";

export interface OpenAiOptions extends ProviderOptions {
  /** What stands before `/chat/completions`: `https://api.openai.com/v1`, `http://127.0.0.1:11434/v1`. */
  readonly baseUrl: string;
  /** Known for some hosts; what is given here counts. */
  readonly quirks?: OpenAiQuirks;
}

/** A model behind the Chat Completions dialect, which OpenAI and most other providers and local servers speak. */
export function openaiCompatible(options: OpenAiOptions): Model {
  const { model, apiKey, traits, capabilities: stated } = options;
  const key = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
  const provider = createProvider(options, options.baseUrl, "/chat/completions", key);
  const quirks = quirksOf(provider.url.hostname, options.quirks);
  const capabilities = { tools: true, images: true, ...stated };
  const id = options.id ?? model;
  return {
    id,
    capabilities,
    ...(traits !== undefined && { traits }),
    async *stream(request: ModelRequest) {
      checkNeeds({ id, capabilities }, needsOf(request));
      const body = toChatRequest(request, { model, quirks, capabilities, extra: options.extra });
      const passed = request.metadata && options.passMetadata?.(request.metadata);
      yield* exchange(provider, request, { ...passed, ...body }, () => new OpenAiReader(provider, request, model));
    },
  };
}
