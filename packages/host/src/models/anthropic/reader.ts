import type { JsonObject } from "portolan";
import type { TurnReader } from "../http/exchange.ts";
import type { Provider } from "../http/provider.ts";
import { Gathering, type OpenCall, toCount } from "../http/turn.ts";
import type { ModelRequest } from "../model.ts";

const stopReasons: { readonly [reason: string]: string } = {
  end_turn: "endTurn",
  max_tokens: "maxTokens",
  stop_sequence: "stopSequence",
  tool_use: "toolUse",
};

/** Reads the Messages API: events, or one whole answer. */
export class AnthropicReader implements TurnReader {
  readonly turn: Gathering;
  readonly #calls = new Map<unknown, OpenCall>();
  #isDone = false;

  constructor(provider: Provider, request: ModelRequest, model: string) {
    this.turn = new Gathering(provider, request, model);
  }

  hear(data: JsonObject): boolean {
    switch (data["type"]) {
      case "message_start":
        this.#hearAround(objectIn(data, "message"));
        return false;
      case "content_block_start":
        this.#begin(data["index"], objectIn(data, "content_block"));
        return false;
      case "content_block_delta":
        this.#add(data["index"], objectIn(data, "delta"));
        return false;
      case "content_block_stop":
        this.#close(data["index"]);
        return false;
      case "message_delta":
        this.#hearReason(objectIn(data, "delta"));
        this.#hearUsage(objectIn(data, "usage"));
        return false;
      case "message_stop":
        return true;
      default:
        // A ping, or what a later version adds.
        return false;
    }
  }

  hearWhole(body: JsonObject): void {
    if (!Array.isArray(body["content"])) return;
    this.#hearAround(body);
    this.turn.stopReason ??= "endTurn";
    this.#hearReason(body);
    for (const [index, block] of body["content"].entries()) {
      if (!isObject(block)) continue;
      this.#begin(index, block);
      this.#close(index);
    }
  }

  finish(isToldSo: boolean): boolean {
    if (this.#isDone) return true;
    if (this.turn.stopReason === undefined && !isToldSo) return false;
    this.#isDone = true;
    for (const index of [...this.#calls.keys()]) this.#close(index);
    this.turn.end(this.turn.stopReason ?? (this.turn.hasCalls ? "toolUse" : "endTurn"));
    return true;
  }

  #hearAround(message: JsonObject): void {
    const { model } = message;
    if (typeof model === "string" && model !== "") this.turn.model = model;
    this.#hearUsage(objectIn(message, "usage"));
  }

  #hearReason({ stop_reason: reason }: JsonObject): void {
    if (typeof reason === "string" && reason !== "") this.turn.stopReason = stopReasons[reason] ?? reason;
  }

  /** What was written to a cache and read from one is input too; what is given out counts up. */
  #hearUsage(usage: JsonObject): void {
    const input = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"].map((name) =>
      toCount(usage[name]),
    );
    if (input[0] !== undefined) this.turn.inputTokens = input.reduce<number>((sum, count) => sum + (count ?? 0), 0);
    this.turn.outputTokens = toCount(usage["output_tokens"]) ?? this.turn.outputTokens;
  }

  #begin(index: unknown, block: JsonObject): void {
    const { type, text, thinking, id, name, input } = block;
    if (type === "text") this.turn.text(text);
    else if (type === "thinking") this.turn.thinking(thinking);
    else if (type === "tool_use") {
      const call = this.turn.openCall(id, name);
      this.#calls.set(index, call);
      // In a stream the input is empty here, and comes in pieces.
      if (isObject(input) && Object.keys(input).length > 0) this.turn.addArguments(call, input);
    }
  }

  #add(index: unknown, delta: JsonObject): void {
    const call = this.#calls.get(index);
    if (delta["type"] === "text_delta") this.turn.text(delta["text"]);
    else if (delta["type"] === "thinking_delta") this.turn.thinking(delta["thinking"]);
    else if (delta["type"] === "input_json_delta" && call !== undefined) {
      this.turn.addArguments(call, delta["partial_json"]);
    }
  }

  #close(index: unknown): void {
    const call = this.#calls.get(index);
    if (call === undefined) return;
    this.#calls.delete(index);
    this.turn.closeCall(call);
  }
}

function objectIn(value: JsonObject, member: string): JsonObject {
  const found = value[member];
  return isObject(found) ? found : {};
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
