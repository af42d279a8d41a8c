import type { ContentBlock, JsonObject, SamplingContent, SamplingMessage, ToolChoice } from "portolan";
import { isObject, type OutgoingEvent } from "portolan/internal";
import type { EndEvent, ModelEvent } from "../model.ts";
import type { FakeModelFaults } from "./fake.ts";
import { type Dialect, type DialectWriter, objectsIn, piecesOf, textIn } from "./fake-dialect.ts";

const stopReasons: { readonly [reason: string]: string } = {
  endTurn: "end_turn",
  stopSequence: "stop_sequence",
  maxTokens: "max_tokens",
  toolUse: "tool_use",
};
const modes: { readonly [type: string]: ToolChoice["mode"] } = { auto: "auto", any: "required", none: "none" };

/** The provider side of the Messages API. */
export const anthropicDialect: Dialect = {
  path: "/messages",
  keyOf: (headers) => headers["x-api-key"],
  problemOf,
  toRequest(body) {
    const { system, temperature, stop_sequences: stop, tool_choice: choice } = body;
    const tools = objectsIn(body, "tools").map((tool) => ({
      name: textIn(tool, "name"),
      description: tool["description"] as string | undefined,
      inputSchema: tool["input_schema"] as JsonObject,
    }));
    const mode = isObject(choice) ? modes[textIn(choice, "type")] : undefined;
    return {
      messages: objectsIn(body, "messages").map(toMessage),
      maxTokens: Number(body["max_tokens"]),
      ...(typeof system === "string" && { system }),
      ...(tools.length > 0 && { tools, toolChoice: { mode: mode ?? "auto" } }),
      ...(typeof temperature === "number" && { temperature }),
      ...(Array.isArray(stop) && { stopSequences: stop as string[] }),
    };
  },
  createWriter: (body, faults) => new Writer(body, faults),
  toError: (type, message) => ({ type: "error", error: { type, message } }),
  toErrorEvent: (type, message) => ({
    event: "error",
    data: JSON.stringify({ type: "error", error: { type, message } }),
  }),
};

function problemOf(body: JsonObject, headers: { readonly [name: string]: string | undefined }): string | undefined {
  const messages = objectsIn(body, "messages");
  if (headers["anthropic-version"] === undefined) return "anthropic-version: header is required";
  if (textIn(body, "model") === "") return "model: field required";
  if (messages.length === 0) return "messages: at least one message is required";
  if (!(Number(body["max_tokens"]) > 0)) return "max_tokens: must be positive";
  let open = new Set<string>();
  for (const [index, message] of messages.entries()) {
    const blocks = objectsIn(message, "content");
    if (blocks.some((block) => block["type"] === "text" && textIn(block, "text") === "")) {
      return `messages.${index}: text content blocks must be non-empty`;
    }
    const answered = blocks.flatMap((block) => (block["type"] === "tool_result" ? [textIn(block, "tool_use_id")] : []));
    for (const id of answered) if (!open.delete(id)) return `messages.${index}: no tool_use with id ${id} before it`;
    if (open.size > 0) return `messages.${index}: tool_use without tool_result: ${[...open].join(", ")}`;
    open = new Set(blocks.flatMap((block) => (block["type"] === "tool_use" ? [textIn(block, "id")] : [])));
  }
  return open.size > 0 ? `tool_use without tool_result: ${[...open].join(", ")}` : undefined;
}

function toMessage(message: JsonObject): SamplingMessage {
  const content = objectsIn(message, "content").map(toBlock);
  return { role: message["role"] === "assistant" ? "assistant" : "user", content };
}

function toBlock(block: JsonObject): SamplingContent {
  switch (block["type"]) {
    case "tool_use":
      return {
        type: "tool_use",
        id: textIn(block, "id"),
        name: textIn(block, "name"),
        input: block["input"] as JsonObject,
      };
    case "tool_result":
      return {
        type: "tool_result",
        toolUseId: textIn(block, "tool_use_id"),
        content: objectsIn(block, "content").map((part) => toBlock(part) as ContentBlock),
        ...(block["is_error"] === true && { isError: true }),
      };
    case "image": {
      const source = isObject(block["source"]) ? block["source"] : {};
      return { type: "image", data: textIn(source, "data"), mimeType: textIn(source, "media_type") };
    }
    default:
      return { type: "text", text: textIn(block, "text") };
  }
}

class Writer implements DialectWriter {
  readonly #faults: FakeModelFaults;
  readonly #model: string;
  #index = -1;
  #kind = "";

  constructor(body: JsonObject, faults: FakeModelFaults) {
    this.#faults = faults;
    this.#model = textIn(body, "model");
  }

  begin(): OutgoingEvent[] {
    const message = { type: "message", role: "assistant", model: this.#model, content: [], usage: { input_tokens: 0 } };
    return [event("message_start", { message }), event("ping", {})];
  }

  write(modelEvent: ModelEvent): OutgoingEvent[] {
    switch (modelEvent.type) {
      case "text":
        return [...this.#open("text", { text: "" }), this.#delta({ type: "text_delta", text: modelEvent.delta })];
      case "thinking":
        return [
          ...this.#open("thinking", { thinking: "" }),
          this.#delta({ type: "thinking_delta", thinking: modelEvent.delta }),
        ];
      case "tool": {
        const text = modelEvent.unreadable ?? JSON.stringify(modelEvent.input);
        return [
          ...this.#close(),
          ...this.#open("tool_use", { id: modelEvent.id, name: modelEvent.name, input: {} }),
          ...piecesOf(text, this.#faults).map((part) => this.#delta({ type: "input_json_delta", partial_json: part })),
        ];
      }
      case "end":
        return [
          ...this.#close(),
          event("message_delta", {
            delta: { stop_reason: stopReasons[modelEvent.stopReason] ?? modelEvent.stopReason },
            ...(this.#faults.noUsage !== true && { usage: usageOf(modelEvent) }),
          }),
          ...(this.#faults.noDone === true ? [] : [event("message_stop", {})]),
        ];
    }
  }

  whole(events: readonly ModelEvent[]): JsonObject {
    const content: JsonObject[] = [];
    const text = events.map((modelEvent) => (modelEvent.type === "text" ? modelEvent.delta : "")).join("");
    if (text !== "") content.push({ type: "text", text });
    for (const modelEvent of events) {
      if (modelEvent.type === "tool")
        content.push({ type: "tool_use", id: modelEvent.id, name: modelEvent.name, input: modelEvent.input ?? {} });
    }
    const end = events.find((modelEvent): modelEvent is EndEvent => modelEvent.type === "end");
    return {
      type: "message",
      role: "assistant",
      model: this.#model,
      content,
      stop_reason: stopReasons[end?.stopReason ?? ""] ?? "end_turn",
      ...(end && this.#faults.noUsage !== true && { usage: usageOf(end) }),
    };
  }

  #open(kind: string, members: JsonObject): OutgoingEvent[] {
    if (this.#kind === kind) return [];
    const before = this.#close();
    this.#kind = kind;
    this.#index += 1;
    return [...before, event("content_block_start", { index: this.#index, content_block: { type: kind, ...members } })];
  }

  #delta(delta: JsonObject): OutgoingEvent {
    return event("content_block_delta", { index: this.#index, delta });
  }

  #close(): OutgoingEvent[] {
    if (this.#kind === "") return [];
    this.#kind = "";
    return [event("content_block_stop", { index: this.#index })];
  }
}

function event(type: string, members: JsonObject): OutgoingEvent {
  return { event: type, data: JSON.stringify({ type, ...members }) };
}

function usageOf({ usage = {} }: EndEvent): JsonObject {
  return { input_tokens: usage.inputTokens ?? 0, output_tokens: usage.outputTokens ?? 0 };
}
