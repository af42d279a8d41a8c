import type { JsonObject } from "portolan";
import { createCallIds } from "../messages.ts";
import type { ModelEvent, ModelRequest, TokenUsage } from "../model.ts";
import { tooMuch } from "./failures.ts";
import type { Provider } from "./provider.ts";

/** A call whose arguments are still coming. */
export interface OpenCall {
  readonly id: string;
  name: string;
  /** Its arguments as they came; never put together before they are whole. */
  readonly pieces: string[];
  chars: number;
}

/** Makes the events of a turn from what a provider sends, within its bounds. */
export class Gathering {
  readonly #provider: Provider;
  readonly #nextId: (given?: string) => string;
  #events: ModelEvent[] = [];
  #textChars = 0;
  #calls = 0;
  inputTokens: number | undefined;
  outputTokens: number | undefined;
  model: string;
  /** Set when the provider said why its turn ended. */
  stopReason: string | undefined;

  constructor(provider: Provider, request: ModelRequest, model: string) {
    this.#provider = provider;
    this.#nextId = createCallIds(request.messages);
    this.model = model;
  }

  get hasCalls(): boolean {
    return this.#calls > 0;
  }

  /** What has come so far, in words; empty when it is nothing. */
  get arrived(): string {
    const parts = [];
    if (this.#textChars > 0) parts.push(`${this.#textChars} characters`);
    if (this.#calls > 0) parts.push(this.#calls === 1 ? "a tool call" : `${this.#calls} tool calls`);
    return parts.join(" and ");
  }

  text(delta: unknown): void {
    this.#say("text", delta);
  }

  thinking(delta: unknown): void {
    this.#say("thinking", delta);
  }

  openCall(id: unknown, name: unknown): OpenCall {
    const { toolCalls } = this.#provider.limits;
    this.#calls += 1;
    if (this.#calls > toolCalls) throw tooMuch(this.#provider, `${toolCalls} tool calls`);
    const call: OpenCall = { id: this.#nextId(typeof id === "string" ? id : ""), name: "", pieces: [], chars: 0 };
    this.addName(call, name);
    return call;
  }

  addName(call: OpenCall, part: unknown): void {
    // Most send the name once, some with each piece, and a few in pieces.
    if (typeof part !== "string" || part === call.name) return;
    call.name = (call.name + part).slice(0, 1_000);
  }

  addArguments(call: OpenCall, part: unknown): void {
    const text = typeof part === "object" && part !== null ? toText(part) : part;
    if (typeof text !== "string") return;
    const { argumentChars } = this.#provider.limits;
    call.chars += text.length;
    if (call.chars > argumentChars) {
      throw tooMuch(this.#provider, `${argumentChars} characters of arguments in one tool call`);
    }
    if (text !== "") call.pieces.push(text);
  }

  closeCall({ id, name, pieces }: OpenCall): void {
    const text = pieces.join("");
    const input = toInput(text);
    this.#events.push(
      input === undefined ? { type: "tool", id, name, unreadable: text } : { type: "tool", id, name, input },
    );
  }

  end(stopReason: string): void {
    const usage: TokenUsage = {
      ...(this.inputTokens !== undefined && { inputTokens: this.inputTokens }),
      ...(this.outputTokens !== undefined && { outputTokens: this.outputTokens }),
    };
    const isKnown = Object.keys(usage).length > 0;
    this.#events.push({ type: "end", stopReason, model: this.model, ...(isKnown && { usage }) });
  }

  /** The events since the last time. */
  take(): readonly ModelEvent[] {
    const events = this.#events;
    if (events.length > 0) this.#events = [];
    return events;
  }

  #say(type: "text" | "thinking", delta: unknown): void {
    if (typeof delta !== "string" || delta === "") return;
    const { textChars } = this.#provider.limits;
    this.#textChars += delta.length;
    if (this.#textChars > textChars) throw tooMuch(this.#provider, `${textChars} characters of text`);
    this.#events.push({ type, delta });
  }
}

function toInput(text: string): JsonObject | undefined {
  // Models leave out the arguments of a tool that has none.
  if (text.trim() === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    // What is nested too deep to be written can be read, but goes nowhere from here.
    JSON.stringify(value);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
  } catch {
    // Whoever runs the loop tells the model.
    return undefined;
  }
}

function toText(value: object): string {
  try {
    return JSON.stringify(value);
  } catch {
    return "(nested too deep)";
  }
}

/** A number of tokens, if it is one. */
export function toCount(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
