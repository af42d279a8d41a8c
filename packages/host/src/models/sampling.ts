import type { CreateMessageParams, CreateMessageResult } from "portolan";
import { PortolanError } from "portolan";
import { checkOptions, type OptionNames } from "portolan/internal";
import { checkCapabilities, requirementsOf } from "./choose.ts";
import { complete } from "./complete.ts";
import type { Model, ModelRequest, TokenUsage } from "./model.ts";

/** Options of `answerSampling`. */
export interface AnswerSamplingOptions {
  /** Cancels the request to the model. */
  readonly signal?: AbortSignal | undefined;
  /** Called with the tokens of the answer, if the model reports them. */
  readonly onUsage?: ((usage: TokenUsage) => void) | undefined;
}

const optionNames: OptionNames<AnswerSamplingOptions> = { signal: 1, onUsage: 1 };

/** Answers a server's `sampling/createMessage` with a model. The model sees only the params of the request. */
export async function answerSampling(
  model: Model,
  params: CreateMessageParams,
  options: AnswerSamplingOptions = {},
): Promise<CreateMessageResult> {
  checkOptions(options, optionNames, "answerSampling");
  checkCapabilities(model, requirementsOf(params));
  const {
    content,
    unreadable,
    usage,
    stopReason,
    model: name,
  } = await complete(model, toModelRequest(params, options.signal));
  if (usage) options.onUsage?.(usage);
  const [bad] = unreadable;
  if (bad !== undefined) {
    throw new PortolanError(
      "model-failed",
      `${model.id} called ${bad.name} with arguments that are not a JSON object (${bad.unreadable.length} characters); try again`,
    );
  }
  const [first = { type: "text", text: "" }] = content;
  // Older revisions allow only one block.
  return { role: "assistant", content: content.length > 1 ? content : first, model: name, stopReason };
}

/** Converts the params of `sampling/createMessage` to a model request. */
export function toModelRequest(params: CreateMessageParams, signal?: AbortSignal): ModelRequest {
  const { messages, maxTokens, systemPrompt, temperature, stopSequences, metadata, tools, toolChoice } = params;
  return {
    messages,
    maxTokens,
    ...(systemPrompt !== undefined && { system: systemPrompt }),
    ...(temperature !== undefined && { temperature }),
    ...(stopSequences !== undefined && { stopSequences }),
    ...(metadata !== undefined && { metadata }),
    ...(tools !== undefined && {
      tools: tools.map(({ name, description, inputSchema }) => ({
        name,
        inputSchema,
        ...(description !== undefined && { description }),
      })),
    }),
    ...(toolChoice !== undefined && { toolChoice }),
    ...(signal !== undefined && { signal }),
  };
}
