import { PortolanError } from "../../errors.ts";
import type { JsonObject } from "../../jsonrpc/message.ts";
import { invalidParams, missingCapability } from "../../protocol/errors.ts";
import { encodeQuestion, lackedBy } from "../../protocol/questions.ts";
import type { InputRequired, Outcome } from "../../protocol/revision.ts";
import type { CreateMessageParams, InputRequest, InputRequests, SamplingContent } from "../../protocol/types/index.ts";
import { array, object, oneOf, optional, record, type ShapeCheck, string } from "../../schema/shape.ts";
import { canonicalJson, sha256 } from "../../storage/crypto.ts";
import type { ServedExchange } from "../call/exchange.ts";
import { nothingKept, type SealedState, type StateSealer, sealState } from "./round-state.ts";

/** Thrown through a handler whose answer is a question; it runs again when the client has answered. */
export class Stop extends Error {
  override readonly name = "Stop";
  constructor() {
    super("The client is being asked; the handler runs again with the answer. Let this error pass.");
  }
}

/** Where handlers wait that keep running between a question and its answer. */
export interface ParkingLot {
  park(conversation: Conversation): string;
}

interface Waiting {
  readonly question: InputRequest;
  readonly resolve: (answer: JsonObject) => void;
  readonly reject: (reason: Error) => void;
}

/** How questions reach the client: as requests, by running again with answers, or by waiting in memory. */
export type Strategy = "send" | "replay" | "park";

/** The questions of one call to its client, over all its rounds. */
export class Conversation {
  /** The request that is being answered: a parked handler outlives the first one. */
  current: ServedExchange;
  readonly #exchange: ServedExchange;
  readonly #strategy: Strategy;
  readonly #keeper: StateSealer;
  readonly #lot: ParkingLot;
  readonly #kept: SealedState;
  readonly #given: ReadonlyMap<string, unknown>;
  readonly #hasState: boolean;
  readonly #keys = new Set<string>();
  readonly #pending = new Map<string, InputRequest>();
  readonly #waiting = new Map<string, Waiting>();
  #busy = 0;
  #turn: "none" | "running" | "over" = "none";
  #answered = false;

  constructor(
    exchange: ServedExchange,
    strategy: Strategy,
    { keeper, parking }: { keeper: StateSealer; parking: ParkingLot },
    kept?: SealedState,
    given: ReadonlyMap<string, unknown> = new Map(),
  ) {
    this.#exchange = exchange;
    this.current = exchange;
    this.#strategy = strategy;
    this.#keeper = keeper;
    this.#lot = parking;
    this.#kept = kept ?? nothingKept();
    this.#hasState = kept !== undefined;
    this.#given = given;
  }

  /** Whether the handler was stopped, so that its end is no answer. */
  get isStopped(): boolean {
    return this.#pending.size > 0;
  }

  /** Whether the questions have been sent as the answer to the current request. */
  get isAnswered(): boolean {
    return this.#answered;
  }

  /** What an explicit handler said to itself in the round before. */
  get userState(): string | undefined {
    return this.#kept.userState;
  }

  /** The results of effects that must not happen again in a later round. */
  get effects(): SealedState["once"] {
    return this.#kept.once;
  }

  /** The raw answer to a question of an explicit round. */
  given(key: string): unknown {
    return this.#given.get(key);
  }

  ask(key: string, question: InputRequest): Promise<JsonObject> {
    const answer = this.#ask(key, question);
    // A question that nobody awaits must not end the process.
    answer.catch(() => {});
    return answer;
  }

  async #ask(key: string, question: InputRequest): Promise<JsonObject> {
    this.#claim("question", key);
    const encoded = this.checked(question);
    if (this.#strategy === "send") return checkAnswer(key, encoded, await this.#send(encoded));
    if (this.#strategy === "park") return checkAnswer(key, encoded, await this.#wait(key, encoded));
    const answer = await this.#recall(key, encoded);
    if (answer) return answer;
    if (this.#answered) throw ended();
    this.#pending.set(key, encoded);
    this.#stop();
    throw new Stop();
  }

  /** The question as the peer's revision spells it, if its client may be asked. */
  checked(question: InputRequest): InputRequest {
    const { revision, capabilities } = this.current.peer;
    const missing = lackedBy(capabilities, revision, question);
    if (missing) throw missingCapability(missing, question.method);
    return encodeQuestion(revision, question);
  }

  /** Runs a side effect once for all rounds of a call; its result makes a JSON round trip. */
  async once<T>(key: string, effect: () => T | Promise<T>): Promise<T> {
    this.#claim("once", key);
    const known = this.#kept.once.get(key);
    if (known !== undefined) return JSON.parse(known);
    if (this.isStopped) throw new Stop();
    this.#busy += 1;
    try {
      const text = JSON.stringify(await effect()) ?? "null";
      this.#kept.once.set(key, text);
      return JSON.parse(text);
    } finally {
      this.#busy -= 1;
      // What waited for this may ask more before the questions travel.
      if (this.#turn === "over") this.#takeTurn();
    }
  }

  /** Continues a parked handler with the answers of a retry; wrong answers change nothing. */
  resume(later: ServedExchange, given: ReadonlyMap<string, unknown>): void {
    const answered = [...this.#waiting].filter(([key]) => given.has(key));
    for (const [key, { question }] of answered) checkAnswer(key, question, given.get(key));
    this.current = later;
    this.#exchange.continueOn(later);
    this.#answered = false;
    this.#turn = "none";
    for (const [key, { resolve }] of answered) {
      this.#waiting.delete(key);
      resolve(given.get(key) as JsonObject);
    }
    if (this.#waiting.size > 0) this.#takeTurn();
  }

  /** Gives up: what still waits for an answer is rejected. */
  abandon(reason: Error): void {
    this.#exchange.abortHandler(reason);
    for (const { reject } of this.#waiting.values()) reject(reason);
    this.#waiting.clear();
  }

  /** The interim result of a handler that lists its questions itself. */
  async explicit(requests: InputRequests | undefined, userState: string | undefined): Promise<InputRequired> {
    const questions = new Map(Object.entries(requests ?? {}).map(([key, question]) => [key, this.checked(question)]));
    const { userState: _before, ...kept } = this.#kept;
    return this.#interim(userState === undefined ? kept : { ...kept, userState }, questions);
  }

  /** Answers nothing more: the handler made a mistake, and that is the answer. */
  giveUp(): void {
    this.#answered = true;
  }

  #claim(what: string, key: string): void {
    if (!this.#exchange.isOpen) throw ended();
    const name = `${what}:${key}`;
    if (this.#keys.has(name)) {
      throw new PortolanError(
        "question-repeated",
        `The ${what} key "${key}" was used twice in one call; keys must differ`,
      );
    }
    this.#keys.add(name);
  }

  #send(question: InputRequest): Promise<JsonObject> {
    const { back } = this.#exchange;
    if (!back.ask) throw new PortolanError("capability-missing", "This transport has no way to ask the client");
    return back.ask(this.#exchange, question);
  }

  /** An answer that is there already, if it was given to this very question. */
  async #recall(key: string, question: InputRequest): Promise<JsonObject | undefined> {
    const kept = this.#kept.answers.get(key);
    const given = this.#given.get(key);
    if (!kept && given === undefined) return undefined;
    this.#busy += 1;
    try {
      const digest = await digestOf(question);
      if (kept?.digest === digest) return kept.answer;
      const isForThis = !this.#hasState || this.#kept.asked.get(key) === digest;
      if (given === undefined || !isForThis) return undefined;
      const answer = checkAnswer(key, question, given);
      this.#kept.answers.set(key, { digest, answer });
      return answer;
    } finally {
      this.#busy -= 1;
      // What waited for this may ask more before the questions travel.
      if (this.#turn === "over") this.#takeTurn();
    }
  }

  #wait(key: string, question: InputRequest): Promise<JsonObject> {
    return new Promise((resolve, reject) => {
      this.#waiting.set(key, { question, resolve, reject });
      this.#takeTurn();
    });
  }

  #stop(): void {
    this.#exchange.abortHandler(new Stop());
    this.#takeTurn();
  }

  /** Waits one turn, so that questions of sibling branches travel together. */
  #takeTurn(): void {
    if (this.#turn === "running") return;
    this.#turn = "running";
    setTimeout(() => {
      this.#turn = "over";
      this.#answerWhenQuiet();
    }, 0);
  }

  #answerWhenQuiet(): void {
    if (this.#turn !== "over" || this.#busy > 0 || this.#answered) return;
    if (this.#pending.size === 0 && this.#waiting.size === 0) return;
    this.#answered = true;
    this.current.settleEarly?.(this.#toOutcome());
  }

  async #toOutcome(): Promise<Outcome> {
    if (this.#strategy === "replay") return this.#interim(this.#kept, this.#pending);
    const { rounds } = this.#kept;
    this.#kept.rounds = rounds + 1;
    const questions = new Map([...this.#waiting].map(([key, { question }]) => [key, question]));
    return this.#interim({ ...nothingKept(), rounds, parked: this.#lot.park(this) }, questions);
  }

  async #interim(kept: SealedState, questions: ReadonlyMap<string, InputRequest>): Promise<InputRequired> {
    const asked = new Map<string, string>();
    for (const [key, question] of questions) asked.set(key, await digestOf(question));
    const state = await sealState(this.#keeper, this.current, { ...kept, asked, rounds: kept.rounds + 1 });
    if (questions.size === 0) return { kind: "input_required", state };
    return { kind: "input_required", requests: Object.fromEntries(questions), state };
  }
}

function digestOf(question: InputRequest): Promise<string> {
  return sha256(canonicalJson(question));
}

function ended(): PortolanError {
  return new PortolanError("exchange-ended", "This request has been answered or cancelled; nothing more can be asked");
}

const shapes: { [method: string]: ShapeCheck } = {
  "elicitation/create": object({ action: oneOf("accept", "decline", "cancel"), content: optional(record()) }),
  "sampling/createMessage": object({ role: oneOf("user", "assistant"), content: content, model: string }),
  "roots/list": object({ roots: array(object({ uri: fileUri, name: optional(string) })) }),
};

/** The answer as an object, or an error that tells the client what is wrong with it. */
export function checkAnswer(key: string, question: InputRequest, answer: unknown): JsonObject {
  const problem = shapes[question.method]?.(answer, `answer "${key}"`);
  if (problem !== undefined) throw invalidParams(problem);
  return answer as JsonObject;
}

function content(value: unknown, path: string): string | undefined {
  const block = object({ type: string });
  return Array.isArray(value) ? array(block)(value, path) : block(value, path);
}

function fileUri(value: unknown, path: string): string | undefined {
  if (typeof value === "string" && value.startsWith("file://")) return undefined;
  return `${path}: expected a file:// URI`;
}

/** Refuses a conversation that the protocol forbids before it reaches the client. */
export function checkSampling(params: CreateMessageParams): void {
  let open = new Set<string>();
  params.messages.forEach((message, index) => {
    const blocks: SamplingContent[] = Array.isArray(message.content) ? message.content : [message.content];
    const results = blocks.filter((block) => block.type === "tool_result");
    if (results.length > 0 && results.length < blocks.length) {
      throw unfit(`messages[${index}]: a message with tool results holds nothing else`);
    }
    for (const result of results) {
      if (!open.delete(result.toolUseId))
        throw unfit(`messages[${index}]: no tool use has the id "${result.toolUseId}"`);
    }
    if (open.size > 0) throw unfit(`messages[${index}]: the tool use "${[...open][0]}" before it has no result`);
    open = new Set(blocks.filter((block) => block.type === "tool_use").map((use) => use.id));
  });
  if (open.size > 0) throw unfit(`messages: the tool use "${[...open][0]}" at the end has no result`);
}

function unfit(why: string): PortolanError {
  return new PortolanError("invalid-argument", `ctx.sample: ${why}`);
}
