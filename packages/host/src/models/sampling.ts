import type { CreateMessageParams, CreateMessageResult } from "portolan";
import { PortolanError } from "portolan";
import { checkNeeds, needsOf } from "./choose.ts";
import { complete } from "./complete.ts";
import type { Model, ModelRequest, TokenUsage } from "./model.ts";

export interface AnswerSamplingOptions {
  readonly signal?: AbortSignal | undefined;
  /** Hears what the answer has cost, where the model says. */
  readonly onUsage?: ((usage: TokenUsage) => void) | undefined;
}

/** Answers a server's `sampling/createMessage` with a model; nothing but what the params say reaches it. */
export async function answerSampling(
  model: Model,
  params: CreateMessageParams,
  options: AnswerSamplingOptions = {},
): Promise<CreateMessageResult> {
  checkNeeds(model, needsOf(params));
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
      `${model.id} called ${bad.name} with arguments that are no JSON object (${bad.unreadable.length} characters); ask it again`,
    );
  }
  const [first = { type: "text", text: "" }] = content;
  // The revisions before lists have one block only.
  return { role: "assistant", content: content.length > 1 ? content : first, model: name, stopReason };
}

/** What a server asks for, as a model is asked. */
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
