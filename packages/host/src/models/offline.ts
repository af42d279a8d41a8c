import { lastResults, lastUserText, resultText } from "./messages.ts";
import type { Model, ModelEvent, ModelRequest, TokenUsage } from "./model.ts";
import { cutToTokens, estimateTokens } from "./tokens.ts";

/** Creates a model that repeats the tool results of the last message, or else the last text of the user. */
export function echoModel(): Model {
  return {
    id: "echo",
    capabilities: { tools: true, images: true, audio: true },
    notice: "not a language model",
    repeatsResults: true,
    async *stream(request: ModelRequest) {
      const { messages, signal } = request;
      signal?.throwIfAborted();
      const results = lastResults(messages).map((result) => resultText(result));
      yield* streamText("echo", request, results.length > 0 ? results.join("\n") : (lastUserText(messages) ?? ""));
    },
  };
}

/** Splits a text into words with their white space, like the stream of a language model. */
export function splitWords(text: string): string[] {
  return text.match(/\s*\S+(?:\s+$)?|\s+/g) ?? [];
}

/** Estimates the tokens of a turn. */
export function estimateUsage(request: ModelRequest, events: readonly ModelEvent[]): TokenUsage {
  const { system = "", messages, tools = [] } = request;
  const parts = events.map((event) => {
    switch (event.type) {
      case "text":
      case "thinking":
        return event.delta;
      case "tool":
        return `${event.name} ${event.unreadable ?? JSON.stringify(event.input)}`;
      default:
        return "";
    }
  });
  return { inputTokens: estimateTokens([system, messages, tools]), outputTokens: estimateTokens(parts.join("")) };
}

/** Streams a text within the limits of a request, and ends the turn. */
export async function* streamText(model: string, request: ModelRequest, text: string): AsyncGenerator<ModelEvent> {
  const { limited, stopReason } = withinLimits(text, request);
  const events: ModelEvent[] = splitWords(limited).map((delta) => ({ type: "text", delta }));
  for (const event of events) {
    yield event;
    request.signal?.throwIfAborted();
  }
  yield { type: "end", stopReason, usage: estimateUsage(request, events), model };
}

function withinLimits(text: string, request: ModelRequest): { limited: string; stopReason: string } {
  const { maxTokens, stopSequences = [] } = request;
  let limited = text;
  let stopReason = "endTurn";
  for (const stop of stopSequences) {
    const at = stop === "" ? -1 : limited.indexOf(stop);
    if (at === -1) continue;
    limited = limited.slice(0, at);
    stopReason = "stopSequence";
  }
  if (estimateTokens(limited) > maxTokens) {
    limited = cutToTokens(limited, maxTokens);
    stopReason = "maxTokens";
  }
  return { limited, stopReason };
}
