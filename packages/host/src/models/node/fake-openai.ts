import type { JsonObject, SamplingContent, SamplingMessage, ToolChoice } from "portolan";
import { isObject, type OutgoingEvent } from "portolan/internal";
import type { EndEvent, ModelEvent } from "../model.ts";
import type { FakeModelFaults } from "./fake.ts";
import { type Dialect, type DialectWriter, objectsIn, piecesOf, textIn } from "./fake-dialect.ts";

const finishReasons: { readonly [reason: string]: string } = {
  endTurn: "stop",
  stopSequence: "stop",
  maxTokens: "length",
  toolUse: "tool_calls",
  refusal: "content_filter",
};

/** The provider side of the Chat Completions API. */
export const openaiDialect: Dialect = {
  path: "/chat/completions",
  keyOf: ({ authorization }) => authorization?.replace(/^Bearer /, ""),
  problemOf,
  toRequest(body) {
    const messages = objectsIn(body, "messages");
    const system = messages.filter(({ role }) => role === "system" || role === "developer");
    const tools = objectsIn(body, "tools").map((tool) => {
      const { name, description, parameters } = isObject(tool["function"]) ? tool["function"] : {};
      return {
        name: String(name),
        description: description as string | undefined,
        inputSchema: parameters as JsonObject,
      };
    });
    const { temperature, stop, tool_choice: mode } = body;
    return {
      messages: messages.flatMap(toMessage),
      maxTokens: Number(body["max_completion_tokens"] ?? body["max_tokens"]),
      ...(system.length > 0 && { system: system.map((message) => textIn(message, "content")).join("\n") }),
      ...(tools.length > 0 && { tools, toolChoice: { mode } as ToolChoice }),
      ...(typeof temperature === "number" && { temperature }),
      ...(Array.isArray(stop) && { stopSequences: stop as string[] }),
    };
  },
  createWriter: (body, faults) => new Writer(body, faults),
  toError: (type, message) => ({ error: { message, type, code: type } }),
  toErrorEvent: (type, message) => ({ data: JSON.stringify({ error: { message, type, code: type } }) }),
};

function problemOf(body: JsonObject): string | undefined {
  const messages = objectsIn(body, "messages");
  if (textIn(body, "model") === "") return "you must provide a model parameter";
  if (messages.length === 0) return "messages must not be empty";
  if (!(Number(body["max_completion_tokens"] ?? body["max_tokens"]) > 0)) return "max_tokens must be positive";
  let open = new Set<string>();
  for (const [index, message] of messages.entries()) {
    const { role } = message;
    if (role === "tool") {
      if (!open.delete(textIn(message, "tool_call_id")))
        return `messages[${index}]: no tool call with this id before it`;
      if (typeof message["content"] !== "string") return `messages[${index}]: content of a tool must be text`;
      continue;
    }
    if (open.size > 0) return `messages[${index}]: tool calls before it have no answer: ${[...open].join(", ")}`;
    open = new Set(objectsIn(message, "tool_calls").map((call) => textIn(call, "id")));
  }
  return open.size > 0 ? `tool calls have no answer: ${[...open].join(", ")}` : undefined;
}

function toMessage(message: JsonObject): SamplingMessage[] {
  const { role, content } = message;
  if (role === "system" || role === "developer") return [];
  if (role === "tool") {
    const result = { type: "text" as const, text: textIn(message, "content") };
    return [
      { role: "user", content: { type: "tool_result", toolUseId: textIn(message, "tool_call_id"), content: [result] } },
    ];
  }
  const blocks: SamplingContent[] =
    typeof content === "string" ? [{ type: "text", text: content }] : objectsIn(message, "content").map(toBlock);
  for (const call of objectsIn(message, "tool_calls")) {
    const { name, arguments: text } = isObject(call["function"]) ? call["function"] : {};
    blocks.push({ type: "tool_use", id: textIn(call, "id"), name: String(name), input: JSON.parse(String(text)) });
  }
  return [{ role: role === "assistant" ? "assistant" : "user", content: blocks }];
}

function toBlock(part: JsonObject): SamplingContent {
  if (part["type"] === "text") return { type: "text", text: textIn(part, "text") };
  if (part["type"] === "input_audio") {
    const audio = isObject(part["input_audio"]) ? part["input_audio"] : {};
    return { type: "audio", data: textIn(audio, "data"), mimeType: `audio/${textIn(audio, "format")}` };
  }
  const { url } = isObject(part["image_url"]) ? part["image_url"] : {};
  const [, mimeType = "", data = ""] = /^data:([^;]*);base64,(.*)$/s.exec(String(url)) ?? [];
  return { type: "image", mimeType, data };
}

class Writer implements DialectWriter {
  readonly #faults: FakeModelFaults;
  readonly #model: string;
  readonly #wantsUsage: boolean;
  #calls = 0;

  constructor(body: JsonObject, faults: FakeModelFaults) {
    const options = isObject(body["stream_options"]) ? body["stream_options"] : {};
    this.#faults = faults;
    this.#model = textIn(body, "model");
    this.#wantsUsage = options["include_usage"] === true && faults.noUsage !== true;
  }

  begin(): OutgoingEvent[] {
    return [this.#chunk({ role: "assistant", content: "" })];
  }

  write(event: ModelEvent): OutgoingEvent[] {
    switch (event.type) {
      case "text":
        return [this.#chunk({ content: event.delta })];
      case "thinking":
        return [this.#chunk({ reasoning_content: event.delta })];
      case "tool": {
        const index = this.#calls;
        this.#calls += 1;
        const [begin, text] = callOf(event);
        const pieces = piecesOf(text, this.#faults);
        return [
          this.#chunk({ tool_calls: [{ index, ...begin, function: { ...begin.function, arguments: "" } }] }),
          ...pieces.map((part) => this.#chunk({ tool_calls: [{ index, function: { arguments: part } }] })),
        ];
      }
      case "end":
        return [
          this.#chunk({}, finishReasons[event.stopReason] ?? event.stopReason),
          ...(this.#wantsUsage ? [this.#event({ choices: [], usage: usageOf(event) })] : []),
          ...(this.#faults.noDone === true ? [] : [{ data: "[DONE]" }]),
        ];
    }
  }

  whole(events: readonly ModelEvent[]): JsonObject {
    const calls = events.flatMap((event) => {
      if (event.type !== "tool") return [];
      const [begin, text] = callOf(event);
      return [{ ...begin, function: { ...begin.function, arguments: text } }];
    });
    const content = events.map((event) => (event.type === "text" ? event.delta : "")).join("");
    const end = events.find((event): event is EndEvent => event.type === "end");
    return {
      model: this.#model,
      choices: [
        {
          index: 0,
          message: { role: "assistant", content, ...(calls.length > 0 && { tool_calls: calls }) },
          finish_reason: finishReasons[end?.stopReason ?? ""] ?? "stop",
        },
      ],
      ...(end && this.#faults.noUsage !== true && { usage: usageOf(end) }),
    };
  }

  #chunk(delta: JsonObject, reason: string | null = null): OutgoingEvent {
    return this.#event({ choices: [{ index: 0, delta, finish_reason: reason }] });
  }

  #event(members: JsonObject): OutgoingEvent {
    return { data: JSON.stringify({ object: "chat.completion.chunk", model: this.#model, ...members }) };
  }
}

function callOf(event: ModelEvent & { type: "tool" }) {
  const begin = { id: event.id, type: "function", function: { name: event.name } };
  return [begin, event.unreadable ?? JSON.stringify(event.input)] as const;
}

function usageOf({ usage = {} }: EndEvent): JsonObject {
  const { inputTokens = 0, outputTokens = 0 } = usage;
  return { prompt_tokens: inputTokens, completion_tokens: outputTokens, total_tokens: inputTokens + outputTokens };
}
