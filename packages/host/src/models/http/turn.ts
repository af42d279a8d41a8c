import type { JsonObject } from "portolan";
import { createCallIds } from "../messages.ts";
import type { ModelEvent, ModelRequest, TokenUsage } from "../model.ts";
import type { Watch } from "./exchange.ts";
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

/** How long the end of an answer is waited for once all is said, so that the connection can be used again. */
const lingerMs = 200;
const lingerChars = 64 * 1024;

/** How long whatever comes after the end of a turn is waited for: usage, and the word that all is said. */
const graceMs = 2_000;

/** The text of an answer, piece by piece. */
export class Chunks {
  readonly #watch: Watch;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  readonly #decoder = new TextDecoder();
  #isOver = false;

  constructor({ body }: Response, watch: Watch) {
    this.#watch = watch;
    this.#reader = body?.getReader();
  }

  /** The next piece; undefined at the end. */
  async next(): Promise<string | undefined> {
    if (this.#reader === undefined || this.#isOver) return undefined;
    const { done, value } = await this.#watch.wait(this.#reader.read());
    if (!done) return this.#decoder.decode(value, { stream: true });
    this.#isOver = true;
    return this.#decoder.decode();
  }

  /** The next piece of an answer that needs none; undefined when it does not come, or not soon. */
  async nextSoon(): Promise<string | undefined> {
    const chunk = await within(graceMs, this.next().catch(nothing));
    this.#watch.throwIfGivenUp();
    return chunk;
  }

  /** All of it, up to a length. */
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

  /** Gives the answer a moment to end by itself. */
  async linger(): Promise<void> {
    if (this.#isOver) return;
    // The turn is complete: how its connection ends is of no interest.
    await within(lingerMs, this.text(lingerChars).catch(nothing));
  }

  /** Frees the connection when not all was read. */
  close(): void {
    this.#reader?.cancel().catch(nothing);
  }
}

/** What comes of some work; undefined when it takes longer. */
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
