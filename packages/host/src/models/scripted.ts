import type { JsonObject } from "portolan";
import { PortolanError } from "portolan";
import { createCallIds, lastResults, lastUserText, resultText, toolOf } from "./messages.ts";
import type { Model, ModelCapabilities, ModelEvent, ModelRequest, ModelTraits, TokenUsage } from "./model.ts";
import { inPieces, usageOf } from "./offline.ts";

/** When a turn is meant: everything that is given must hold. Strings are parts of the text. */
export interface TurnMatch {
  /** What the user last said. */
  readonly user?: string | RegExp;
  /** The tool that one of the results in the last message is from. */
  readonly tool?: string;
  /** The text of such a result; of any, unless `tool` is given. */
  readonly result?: string | RegExp;
  readonly system?: string | RegExp;
}

/** A call as it is written in a script. */
export interface ScriptedCall {
  readonly name: string;
  readonly input?: JsonObject;
  readonly id?: string;
  /** Arguments that are no JSON object. */
  readonly unreadable?: string;
}

/** One turn of a script. */
export interface ScriptedTurn {
  /** Whatever comes, unless given. */
  readonly when?: TurnMatch;
  readonly think?: string;
  readonly say?: string;
  readonly call?: ScriptedCall | readonly ScriptedCall[];
  /** `toolUse` for calls and `endTurn` otherwise, unless given. */
  readonly stopReason?: string;
  /** Estimated unless given. */
  readonly usage?: TokenUsage;
  /** Thrown after what it says and calls. */
  readonly fail?: Error;
  /** Outside the order: used, as often as it fits, where the next turn does not. */
  readonly repeat?: boolean;
}

export interface ScriptedOptions {
  readonly id?: string;
  readonly capabilities?: ModelCapabilities;
  readonly traits?: ModelTraits;
}

/** A model that follows a script and knows what it was asked. */
export interface ScriptedModel extends Model {
  readonly requests: readonly ModelRequest[];
  /** Throws when a turn was not used, or a request had no turn. */
  done(): void;
}

/** A model that takes its turns from a list, each once and in order; a request that does not fit fails and says why. */
export function scriptedModel(turns: readonly ScriptedTurn[], options: ScriptedOptions = {}): ScriptedModel {
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
      `The script of ${this.id} has ${this.#turns.length} turns, of which ${this.#used} were used; the next is ${describe(next)}`,
    );
  }

  async *#play(request: ModelRequest): AsyncGenerator<ModelEvent> {
    const { signal, messages } = request;
    signal?.throwIfAborted();
    this.requests.push(request);
    const turn = this.#next(request);
    const calls = listOf(turn.call);
    const events: ModelEvent[] = [];
    for (const delta of inPieces(turn.think ?? "")) events.push({ type: "thinking", delta });
    for (const delta of inPieces(turn.say ?? "")) events.push({ type: "text", delta });
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
    yield { type: "end", stopReason, usage: turn.usage ?? usageOf(request, events), model: this.id };
  }

  #next(request: ModelRequest): ScriptedTurn {
    const next = this.#turns[this.#used];
    if (next !== undefined && fits(next, request)) {
      this.#used += 1;
      return next;
    }
    const repeated = this.#repeated.find((turn) => fits(turn, request));
    if (repeated !== undefined) return repeated;
    const expected =
      next === undefined
        ? `has no turn left after ${this.#turns.length}`
        : `expects turn ${this.#used + 1}, ${describe(next)}`;
    this.#problem = new PortolanError("model-failed", `The script of ${this.id} ${expected}; ${came(request)}`);
    throw this.#problem;
  }
}

function listOf(call: ScriptedTurn["call"]): readonly ScriptedCall[] {
  if (call === undefined) return [];
  return "name" in call ? [call] : call;
}

function fits({ when = {} }: ScriptedTurn, { messages, system }: ModelRequest): boolean {
  if (when.user !== undefined && !holds(when.user, lastUserText(messages))) return false;
  if (when.system !== undefined && !holds(when.system, system)) return false;
  if (when.tool === undefined && when.result === undefined) return true;
  return lastResults(messages).some(
    (result) =>
      (when.tool === undefined || toolOf(result, messages) === when.tool) &&
      (when.result === undefined || holds(when.result, resultText(result))),
  );
}

function holds(expected: string | RegExp, text = ""): boolean {
  // A pattern with the flag "g" or "y" would remember where it stopped.
  return typeof expected === "string" ? text.includes(expected) : text.search(expected) !== -1;
}

function describe({ when = {}, say, call }: ScriptedTurn): string {
  const conditions = Object.entries(when).map(
    ([name, value]) => `${name} ${value instanceof RegExp ? value : quote(value)}`,
  );
  const does = listOf(call).map(({ name }) => `call ${name}`);
  if (say !== undefined) does.unshift(`say ${quote(say)}`);
  return `which is to ${does.join(" and ") || "say nothing"}${conditions.length > 0 ? ` on ${conditions.join(" and ")}` : ""}`;
}

function came({ messages }: ModelRequest): string {
  const results = lastResults(messages).map(
    (result) => `${toolOf(result, messages) ?? "an unknown tool"} answered ${quote(resultText(result))}`,
  );
  if (results.length > 0) return `what came: ${results.join(", ")}`;
  const text = lastUserText(messages);
  return text === undefined ? "what came: no text of a user" : `what came: the user said ${quote(text)}`;
}

function quote(text: string): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text);
}
