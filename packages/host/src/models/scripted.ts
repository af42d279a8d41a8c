import type { JsonObject } from "portolan";
import { PortolanError } from "portolan";
import { checkOptions, isObject, nameOf, type OptionNames } from "portolan/internal";
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
  /** The turn is outside the order: it is used any number of times, whenever the next turn does not match. */
  readonly repeat?: boolean;
}

/** Options of `scriptedModel`. */
export interface ScriptedOptions {
  /** The name of the model. Default: "scripted". */
  readonly id?: string;
  /** What the model can do. Default: tools, images and audio. */
  readonly capabilities?: ModelCapabilities;
  /** What the model is good at, for servers that name preferences. Default: unknown. */
  readonly traits?: ModelTraits;
}

/** A scripted model with the requests that it received. */
export interface ScriptedModel extends Model {
  readonly requests: readonly ModelRequest[];
  /** Throws if a turn was not used, a request matched no turn, or a turn called a tool that was not offered. */
  done(): void;
}

const optionNames: OptionNames<ScriptedOptions> = { id: 1, capabilities: 1, traits: 1 };
const turnNames: OptionNames<ScriptedTurn> = {
  ...{ when: 1, think: 1, say: 1, call: 1, stopReason: 1, usage: 1, fail: 1, repeat: 1 },
};
const matchNames: OptionNames<TurnMatch> = { user: 1, tool: 1, result: 1, system: 1 };
const callNames: OptionNames<ScriptedCall> = { name: 1, input: 1, id: 1, unreadable: 1 };

/**
 * Creates a model that plays the turns in order, each once. A request that does not match fails with the reason. Throws
 * for a turn with an unknown member.
 */
export function scriptedModel(turns: readonly ScriptedTurn[], options: ScriptedOptions = {}): ScriptedModel {
  checkOptions(options, optionNames, "scriptedModel");
  checkTurns(turns);
  return new Script(turns, options);
}

function checkTurns(turns: readonly ScriptedTurn[]): void {
  if (!Array.isArray(turns)) throw invalid("a list of turns", turns);
  for (const [at, turn] of turns.entries()) {
    const where = `scriptedModel: turn ${at + 1}`;
    if (!isObject(turn)) throw invalid("an object such as { say } or { call }", turn, where);
    const { when = {}, call = [] } = turn as ScriptedTurn;
    checkOptions(turn, turnNames, where, { synonyms: { text: "say", tool: "call", tools: "call", match: "when" } });
    checkOptions(when, matchNames, `${where}: when`, { synonyms: { text: "user" } });
    for (const one of Array.isArray(call) ? call : [call]) {
      if (!isObject(one) || typeof one["name"] !== "string") throw invalid("{ name, input }", one, `${where}: call`);
      checkOptions<object>(one, callNames, `${where}: call`, {
        synonyms: { tool: "name", args: "input", arguments: "input" },
      });
    }
  }
}

function invalid(expected: string, got: unknown, where = "scriptedModel"): PortolanError {
  return new PortolanError("invalid-argument", `${where}: expected ${expected}, got ${nameOf(got)}`);
}

class Script implements ScriptedModel {
  readonly id: string;
  readonly capabilities: ModelCapabilities;
  readonly traits: ModelTraits;
  readonly notice = "not a language model";
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
    this.#checkCalls(calls, request);
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

  /** A call of an unknown tool is a mistake of the script, unless the model may search for tools that are not listed. */
  #checkCalls(calls: readonly ScriptedCall[], { tools }: ModelRequest): void {
    if (tools === undefined) return;
    const listed = tools.map(({ name }) => name);
    const unknown = calls.find(({ name }) => !listed.includes(name));
    if (!unknown || listed.includes("find_tools")) return;
    this.#problem ??= new PortolanError(
      "model-failed",
      `The script of ${this.id} called ${quote(unknown.name)}, which is not among its tools: ${listed.join(", ") || "none"}`,
    );
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
