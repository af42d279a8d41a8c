import type { JsonObject } from "portolan";
import { drainMs, endGraceMs, maxDrainChars, maxToolNameChars } from "../limits.ts";
import { createCallIds } from "../messages.ts";
import type { ModelEvent, ModelRequest, TokenUsage } from "../model.ts";
import type { StallTimer } from "./exchange.ts";
import { limitReached } from "./failures.ts";
import type { Provider } from "./provider.ts";

/** A tool call whose arguments are still arriving. */
export interface OpenCall {
  readonly id: string;
  name: string;
  /** The pieces of its arguments. They are joined once, at the end. */
  readonly pieces: string[];
  chars: number;
}

/** Builds the events of a turn from the data of a provider, within its limits. */
export class TurnBuilder {
  readonly #provider: Provider;
  readonly #nextId: (given?: string) => string;
  #events: ModelEvent[] = [];
  #textChars = 0;
  #calls = 0;
  inputTokens: number | undefined;
  outputTokens: number | undefined;
  model: string;
  /** Set when the provider has sent its stop reason. */
  stopReason: string | undefined;

  constructor(provider: Provider, request: ModelRequest, model: string) {
    this.#provider = provider;
    this.#nextId = createCallIds(request.messages);
    this.model = model;
  }

  get hasCalls(): boolean {
    return this.#calls > 0;
  }

  /** Describes the part of the turn that has arrived; empty if there is none. */
  get received(): string {
    const parts = [];
    if (this.#textChars > 0) parts.push(`${this.#textChars} characters`);
    if (this.#calls > 0) parts.push(this.#calls === 1 ? "a tool call" : `${this.#calls} tool calls`);
    return parts.join(" and ");
  }

  text(delta: unknown): void {
    this.#addText("text", delta);
  }

  thinking(delta: unknown): void {
    this.#addText("thinking", delta);
  }

  openCall(id: unknown, name: unknown): OpenCall {
    const { toolCalls } = this.#provider.limits;
    this.#calls += 1;
    if (this.#calls > toolCalls) throw limitReached(this.#provider, `${toolCalls} tool calls`);
    const call: OpenCall = { id: this.#nextId(typeof id === "string" ? id : ""), name: "", pieces: [], chars: 0 };
    this.addName(call, name);
    return call;
  }

  addName(call: OpenCall, part: unknown): void {
    // Most providers send the name once, some repeat it with each piece, and a few split it.
    if (typeof part !== "string" || part === call.name) return;
    call.name = (call.name + part).slice(0, maxToolNameChars);
  }

  addArguments(call: OpenCall, part: unknown): void {
    const text = typeof part === "object" && part !== null ? toText(part) : part;
    if (typeof text !== "string") return;
    const { argumentChars } = this.#provider.limits;
    call.chars += text.length;
    if (call.chars > argumentChars) {
      throw limitReached(this.#provider, `${argumentChars} characters of arguments in one tool call`);
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

  /** Returns the events since the last call. */
  take(): readonly ModelEvent[] {
    const events = this.#events;
    if (events.length > 0) this.#events = [];
    return events;
  }

  #addText(type: "text" | "thinking", delta: unknown): void {
    if (typeof delta !== "string" || delta === "") return;
    const { textChars } = this.#provider.limits;
    this.#textChars += delta.length;
    if (this.#textChars > textChars) throw limitReached(this.#provider, `${textChars} characters of text`);
    this.#events.push({ type, delta });
  }
}

function toInput(text: string): JsonObject | undefined {
  // Models omit the arguments of a tool without parameters.
  if (text.trim() === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    // Deeply nested JSON can be parsed but not stringified, so it is useless.
    JSON.stringify(value);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
  } catch {
    // The caller tells the model about unreadable arguments.
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

/** Returns a token count; undefined if the value is not one. */
export function toCount(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** The text of a response in chunks. */
export class Chunks {
  readonly #timer: StallTimer;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  readonly #decoder = new TextDecoder();
  #isOver = false;

  constructor({ body }: Response, timer: StallTimer) {
    this.#timer = timer;
    this.#reader = body?.getReader();
  }

  /** Returns the next chunk; undefined at the end. */
  async next(): Promise<string | undefined> {
    if (this.#reader === undefined || this.#isOver) return undefined;
    const { done, value } = await this.#timer.wait(this.#reader.read());
    if (!done) return this.#decoder.decode(value, { stream: true });
    this.#isOver = true;
    return this.#decoder.decode();
  }

  /** Returns the next chunk after the stop reason; undefined if it does not arrive soon. */
  async nextSoon(): Promise<string | undefined> {
    const chunk = await within(endGraceMs, this.next().catch(nothing));
    this.#timer.throwIfAborted();
    return chunk;
  }

  /** Returns the text of the whole response, up to a length. */
  async text(maxChars: number): Promise<string> {
    const parts: string[] = [];
    let length = 0;
    for (let chunk = await this.next(); chunk !== undefined && length < maxChars; chunk = await this.next()) {
      parts.push(chunk);
      length += chunk.length;
    }
    this.close();
    return parts.join("").slice(0, maxChars);
  }

  /** Waits a moment for the end of the response, so that the connection can be reused. */
  async drain(): Promise<void> {
    if (this.#isOver) return;
    // The turn is complete, so an error here does not matter.
    await within(drainMs, this.text(maxDrainChars).catch(nothing));
  }

  /** Releases the connection if the response was not read to its end. */
  close(): void {
    this.#reader?.cancel().catch(nothing);
  }
}

/** Returns the result of some work; undefined if it takes longer. */
async function within<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, ms, undefined);
  });
  const outcome = await Promise.race([work, late]);
  clearTimeout(timer);
  return outcome;
}

function nothing(): undefined {
  return undefined;
}
