import { lastResults, lastUserText, resultText } from "./messages.ts";
import type { Model, ModelEvent, ModelRequest, TokenUsage } from "./model.ts";
import { cutToTokens, estimateTokens } from "./tokens.ts";

/** A model that says what it was told: the results in the last message, or else what the user last said. */
export function echo(): Model {
  return {
    id: "echo",
    capabilities: { tools: true, images: true, audio: true },
    notice: "echo, not a language model",
    async *stream(request: ModelRequest) {
      const { messages, signal } = request;
      signal?.throwIfAborted();
      const results = lastResults(messages).map((result) => resultText(result));
      yield* speak("echo", request, results.length > 0 ? results.join("\n") : (lastUserText(messages) ?? ""));
    },
  };
}

/** A text as a stream of words, as language models have it. */
export function inPieces(text: string): string[] {
  return text.match(/\s*\S+(?:\s+$)?|\s+/g) ?? [];
}

/** What a turn would have cost. */
export function usageOf(request: ModelRequest, events: readonly ModelEvent[]): TokenUsage {
  const { system = "", messages, tools = [] } = request;
  const said = events.map((event) => {
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
  return { inputTokens: estimateTokens([system, messages, tools]), outputTokens: estimateTokens(said.join("")) };
}

/** Says a text within the bounds of a request, and ends the turn. */
export async function* speak(model: string, request: ModelRequest, text: string): AsyncGenerator<ModelEvent> {
  const { said, stopReason } = withinBounds(text, request);
  const events: ModelEvent[] = inPieces(said).map((delta) => ({ type: "text", delta }));
  for (const event of events) {
    yield event;
    request.signal?.throwIfAborted();
  }
  yield { type: "end", stopReason, usage: usageOf(request, events), model };
}

function withinBounds(text: string, request: ModelRequest): { said: string; stopReason: string } {
  const { maxTokens, stopSequences = [] } = request;
  let said = text;
  let stopReason = "endTurn";
  for (const stop of stopSequences) {
    const at = stop === "" ? -1 : said.indexOf(stop);
    if (at === -1) continue;
    said = said.slice(0, at);
    stopReason = "stopSequence";
  }
  if (estimateTokens(said) > maxTokens) {
    said = cutToTokens(said, maxTokens);
    stopReason = "maxTokens";
  }
  return { said, stopReason };
}
