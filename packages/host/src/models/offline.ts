import { lastResults, lastUserText, resultText } from "./messages.ts";
import type { Model, ModelRequest } from "./model.ts";
import { speak } from "./speech.ts";

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
