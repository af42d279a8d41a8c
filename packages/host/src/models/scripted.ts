import type { JsonObject } from "portolan";
import { PortolanError } from "portolan";
import { checkOptions, type OptionNames } from "portolan/internal";
import { maxQuoteChars } from "./limits.ts";
import { createCallIds, lastResults, lastUserText, resultText, toolOf } from "./messages.ts";
import type { Model, ModelCapabilities, ModelEvent, ModelRequest, ModelTraits, TokenUsage } from "./model.ts";
import { estimateUsage, splitWords } from "./offline.ts";

/** The conditions of a turn; all of them must match. A string matches any text that contains it. */
export interface TurnMatch {
  /** The last text of the user. */
  readonly user?: string | RegExp;
  /** The tool of one result in the last message. */
  readonly tool?: string;
  /** The text of a result in the last message. With `tool`, of a result of that tool. */
  readonly result?: string | RegExp;
  readonly system?: string | RegExp;
}

/** A tool call in a script. */
export interface ScriptedCall {
  readonly name: string;
  readonly input?: JsonObject;
  readonly id?: string;
  /** Arguments that are not a JSON object. */
  readonly unreadable?: string;
}

/** One turn of a script. */
export interface ScriptedTurn {
  /** Default: matches every request. */
  readonly when?: TurnMatch;
  readonly think?: string;
  readonly say?: string;
  readonly call?: ScriptedCall | readonly ScriptedCall[];
  /** Default: `toolUse` with calls, otherwise `endTurn`. */
  readonly stopReason?: string;
  /** Default: estimated. */
  readonly usage?: TokenUsage;
  /** Thrown after the text and calls of the turn. */
  readonly fail?: Error;
  /** The turn is outside the order: it is used any number of times, whenever the next turn actions not match. */
  readonly repeat?: boolean;
}

export interface ScriptedOptions {
  readonly id?: string;
  readonly capabilities?: ModelCapabilities;
  readonly traits?: ModelTraits;
}

/** A scripted model with the requests that it received. */
export interface ScriptedModel extends Model {
  readonly requests: readonly ModelRequest[];
  /** Throws if a turn was not used, or a request matched no turn. */
  done(): void;
}

const optionNames: OptionNames<ScriptedOptions> = { id: 1, capabilities: 1, traits: 1 };

/** Creates a model that plays the turns in order, each once. A request that actions not match fails with the reason. */
export function scriptedModel(turns: readonly ScriptedTurn[], options: ScriptedOptions = {}): ScriptedModel {
  checkOptions(options, optionNames, "scriptedModel");
  return new Script(turns, options);
}

class Script implements ScriptedModel {
  readonly id: string;
  readonly capabilities: ModelCapabilities;
  readonly traits: ModelTraits;
  readonly notice = "scripted, not a language model";
  readonly requests: ModelRequest[] = [];
  readonly #turns: readonly ScriptedTurn[];
  readonly #repeated: readonly ScriptedTurn[];
  #used = 0;
  #problem: Error | undefined;

  constructor(turns: readonly ScriptedTurn[], options: ScriptedOptions) {
    this.id = options.id ?? "scripted";
    this.capabilities = options.capabilities ?? { tools: true, images: true, audio: true };
    this.traits = options.traits ?? {};
    this.#turns = turns.filter(({ repeat }) => repeat !== true);
    this.#repeated = turns.filter(({ repeat }) => repeat === true);
  }

  stream(request: ModelRequest): AsyncIterable<ModelEvent> {
    return this.#play(request);
  }

  done(): void {
    if (this.#problem) throw this.#problem;
    const next = this.#turns[this.#used];
    if (next === undefined) return;
    throw new PortolanError(
      "model-failed",
      `The script of ${this.id} has ${this.#turns.length} turns, and ${this.#used} were used; the next one would ${describe(next)}`,
    );
  }

  async *#play(request: ModelRequest): AsyncGenerator<ModelEvent> {
    const { signal, messages } = request;
    signal?.throwIfAborted();
    this.requests.push(request);
    const turn = this.#next(request);
    const calls = listOf(turn.call);
    const events: ModelEvent[] = [];
    for (const delta of splitWords(turn.think ?? "")) events.push({ type: "thinking", delta });
    for (const delta of splitWords(turn.say ?? "")) events.push({ type: "text", delta });
    const nextId = createCallIds(messages);
    for (const { name, input = {}, id, unreadable } of calls) {
      if (unreadable === undefined) events.push({ type: "tool", id: nextId(id), name, input });
      else events.push({ type: "tool", id: nextId(id), name, unreadable });
    }
    for (const event of events) {
      yield event;
      signal?.throwIfAborted();
    }
    if (turn.fail) throw turn.fail;
    const stopReason = turn.stopReason ?? (calls.length > 0 ? "toolUse" : "endTurn");
    yield { type: "end", stopReason, usage: turn.usage ?? estimateUsage(request, events), model: this.id };
  }

  #next(request: ModelRequest): ScriptedTurn {
    const next = this.#turns[this.#used];
    if (next !== undefined && matches(next, request)) {
      this.#used += 1;
      return next;
    }
    const repeated = this.#repeated.find((turn) => matches(turn, request));
    if (repeated !== undefined) return repeated;
    const expected =
      next === undefined
        ? `has no turn left after ${this.#turns.length}`
        : `expects turn ${this.#used + 1}, which would ${describe(next)}`;
    this.#problem = new PortolanError(
      "model-failed",
      `The script of ${this.id} ${expected}; ${describeRequest(request)}`,
    );
    throw this.#problem;
  }
}

function listOf(call: ScriptedTurn["call"]): readonly ScriptedCall[] {
  if (call === undefined) return [];
  return "name" in call ? [call] : call;
}

function matches({ when = {} }: ScriptedTurn, { messages, system }: ModelRequest): boolean {
  if (when.user !== undefined && !textMatches(when.user, lastUserText(messages))) return false;
  if (when.system !== undefined && !textMatches(when.system, system)) return false;
  if (when.tool === undefined && when.result === undefined) return true;
  return lastResults(messages).some(
    (result) =>
      (when.tool === undefined || toolOf(result, messages) === when.tool) &&
      (when.result === undefined || textMatches(when.result, resultText(result))),
  );
}

function textMatches(expected: string | RegExp, text = ""): boolean {
  // `search`, because `test` with the flag "g" or "y" remembers its position.
  return typeof expected === "string" ? text.includes(expected) : text.search(expected) !== -1;
}

function describe({ when = {}, say, call }: ScriptedTurn): string {
  const conditions = Object.entries(when).map(
    ([name, value]) => `${name} ${value instanceof RegExp ? value : quote(value)}`,
  );
  const actions = listOf(call).map(({ name }) => `call ${name}`);
  if (say !== undefined) actions.unshift(`say ${quote(say)}`);
  return `${actions.join(" and ") || "say nothing"}${conditions.length > 0 ? ` for ${conditions.join(" and ")}` : ""}`;
}

function describeRequest({ messages }: ModelRequest): string {
  const results = lastResults(messages).map(
    (result) => `${toolOf(result, messages) ?? "an unknown tool"} answered ${quote(resultText(result))}`,
  );
  if (results.length > 0) return `got: ${results.join(", ")}`;
  const text = lastUserText(messages);
  return text === undefined ? "got no text of a user" : `got: the user said ${quote(text)}`;
}

function quote(text: string): string {
  return JSON.stringify(text.length > maxQuoteChars ? `${text.slice(0, maxQuoteChars)}…` : text);
}
