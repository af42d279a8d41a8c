import type { JsonObject } from "portolan";
import type { TurnReader } from "../http/exchange.ts";
import type { Provider } from "../http/provider.ts";
import { Gathering, type OpenCall, toCount } from "../http/turn.ts";
import type { ModelRequest } from "../model.ts";

const stopReasons: { readonly [reason: string]: string } = {
  stop: "endTurn",
  length: "maxTokens",
  tool_calls: "toolUse",
  function_call: "toolUse",
  content_filter: "refusal",
};

/** A call that is coming in pieces, and what its provider calls it. */
interface Coming {
  readonly call: OpenCall;
  readonly index: number | undefined;
  readonly id: string;
}

/** Reads Chat Completions: chunks, or one whole answer. */
export class OpenAiReader implements TurnReader {
  readonly turn: Gathering;
  readonly #coming: Coming[] = [];
  #hasRefused = false;
  #isDone = false;

  constructor(provider: Provider, request: ModelRequest, model: string) {
    this.turn = new Gathering(provider, request, model);
  }

  hear(data: JsonObject): boolean {
    this.#hearAround(data);
    const choice = firstChoice(data);
    if (choice === undefined) return false;
    this.#hearMessage(objectIn(choice, "delta") ?? objectIn(choice, "message") ?? {});
    this.#hearReason(choice["finish_reason"]);
    // Usage comes after the reason, in an event of its own.
    return false;
  }

  hearWhole(body: JsonObject): void {
    this.#hearAround(body);
    const choice = firstChoice(body);
    if (choice === undefined) return;
    this.#hearMessage(objectIn(choice, "message") ?? {});
    this.turn.stopReason ??= "endTurn";
    this.#hearReason(choice["finish_reason"]);
  }

  finish(isToldSo: boolean): boolean {
    if (this.#isDone) return true;
    if (this.turn.stopReason === undefined && !isToldSo) return false;
    this.#isDone = true;
    for (const { call } of this.#coming) this.turn.closeCall(call);
    this.turn.end(this.#stopReason());
    return true;
  }

  #stopReason(): string {
    const { stopReason = "endTurn", hasCalls } = this.turn;
    if (this.#hasRefused) return "refusal";
    // Some providers end a turn with calls like any other.
    return hasCalls && stopReason === "endTurn" ? "toolUse" : stopReason;
  }

  #hearAround({ model, usage }: JsonObject): void {
    if (typeof model === "string" && model !== "") this.turn.model = model;
    if (typeof usage !== "object" || usage === null) return;
    const { prompt_tokens: input, completion_tokens: output } = usage as JsonObject;
    this.turn.inputTokens = toCount(input) ?? this.turn.inputTokens;
    this.turn.outputTokens = toCount(output) ?? this.turn.outputTokens;
  }

  #hearReason(reason: unknown): void {
    if (typeof reason === "string" && reason !== "") this.turn.stopReason = stopReasons[reason] ?? reason;
  }

  #hearMessage(message: JsonObject): void {
    const { content, refusal, reasoning_content: thought, reasoning, tool_calls: calls } = message;
    // One of the two: a few providers send both, with the same text.
    this.turn.thinking(typeof thought === "string" && thought !== "" ? thought : reasoning);
    if (Array.isArray(content)) for (const part of content) this.turn.text(isObject(part) ? part["text"] : undefined);
    else this.turn.text(content);
    if (typeof refusal === "string" && refusal !== "") {
      this.#hasRefused = true;
      this.turn.text(refusal);
    }
    if (Array.isArray(calls)) for (const call of calls) if (isObject(call)) this.#hearCall(call);
  }

  #hearCall(piece: JsonObject): void {
    const { name, arguments: part } = objectIn(piece, "function") ?? {};
    const id = typeof piece["id"] === "string" ? piece["id"] : "";
    const index = typeof piece["index"] === "number" ? piece["index"] : undefined;
    const hasName = typeof name === "string" && name !== "";
    const found = this.#find(id, index, hasName);
    const known = found !== undefined && hasName && isNext(found.call, part) ? undefined : found;
    if (known === undefined) {
      const call = this.turn.openCall(id, name);
      this.#coming.push({ call, index, id });
      this.turn.addArguments(call, part);
      return;
    }
    if (known.call.chars === 0) this.turn.addName(known.call, name);
    this.turn.addArguments(known.call, part);
  }

  /** The call that a piece belongs to; undefined when it begins one. */
  #find(id: string, index: number | undefined, hasName: boolean): Coming | undefined {
    const byIndex = index === undefined ? undefined : this.#coming.findLast((one) => one.index === index);
    // The same place with another id is another call: some providers count all of them as the first.
    if (byIndex !== undefined) return id !== "" && byIndex.id !== "" && id !== byIndex.id ? this.#byId(id) : byIndex;
    if (index !== undefined) return undefined;
    if (id !== "") return this.#byId(id);
    return hasName ? undefined : this.#coming.at(-1);
  }

  #byId(id: string): Coming | undefined {
    return this.#coming.find((one) => one.id === id);
  }
}

/** One object right after another is no JSON: these are the arguments of the next call, in the place of the one before. */
function isNext({ pieces }: OpenCall, part: unknown): boolean {
  const begins = isObject(part) || (typeof part === "string" && part.startsWith("{"));
  return begins && pieces.at(-1)?.endsWith("}") === true;
}

function firstChoice({ choices }: JsonObject): JsonObject | undefined {
  if (!Array.isArray(choices)) return undefined;
  return choices.find((choice): choice is JsonObject => isObject(choice) && (choice["index"] ?? 0) === 0);
}

function objectIn(value: JsonObject, member: string): JsonObject | undefined {
  const found = value[member];
  return isObject(found) ? found : undefined;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
