import { PortolanError } from "../../errors.ts";
import type { JsonObject } from "../../jsonrpc/message.ts";
import { invalidState } from "../../protocol/errors.ts";
import { canonicalJson, createSealer, randomSecret, type Sealer, sha256 } from "../../storage/crypto.ts";
import { createMemoryStorage } from "../../storage/memory.ts";
import type { Storage } from "../../storage/storage.ts";
import type { ServedExchange } from "../call/exchange.ts";
import type { Runtime } from "../subscribe/hub.ts";
import type { Conversation, ParkingLot } from "./conversation.ts";

/** What earlier rounds of a call have settled; it travels with the client, sealed. */
export interface SealedState {
  /** Answers by key, each with the digest of the question it answers. */
  readonly answers: Map<string, { digest: string; answer: JsonObject }>;
  /** Results of `once`, as JSON text. */
  readonly once: Map<string, string>;
  /** Digests of the questions that were put in the last round. */
  readonly asked: Map<string, string>;
  /** What an explicit handler wants to see again, as JSON text. */
  userState?: string;
  /** The handle of a handler that waits in memory. */
  parked?: string;
  rounds: number;
}

export function nothingKept(): SealedState {
  return { answers: new Map(), once: new Map(), asked: new Map(), rounds: 0 };
}

/** What sealing and opening need. */
export interface StateSealer {
  readonly sealer: Sealer;
  readonly storage: Storage;
  readonly ttlMs: number;
  /** Above this many characters the state stays here and a handle travels. */
  readonly maxCharacters: number;
}

const purpose = "requestState";
const handlePrefix = "kept:";

/** Seals what is kept, bound to this very call by this very caller. */
export async function sealState(keeper: StateSealer, exchange: ServedExchange, kept: SealedState): Promise<string> {
  const value = JSON.stringify({
    answers: Object.fromEntries(kept.answers),
    once: Object.fromEntries(kept.once),
    asked: Object.fromEntries(kept.asked),
    userState: kept.userState,
    parked: kept.parked,
    rounds: kept.rounds,
  });
  const { ttlMs } = keeper;
  const sealed = await keeper.sealer.seal(value, { purpose, binding: await bindingOf(exchange), ttlMs });
  if (sealed.length <= keeper.maxCharacters) return sealed;
  const handle = handlePrefix + crypto.randomUUID();
  await keeper.storage.kv.set(handle, sealed, { ttlMs });
  return handle;
}

/** Opens a state that came back; whatever is wrong with it, the caller hears the same. */
export async function openState(keeper: StateSealer, exchange: ServedExchange, state: string): Promise<SealedState> {
  const sealed = state.startsWith(handlePrefix) ? await keeper.storage.kv.get(state) : state;
  if (sealed === undefined) throw invalidState();
  const opened = await keeper.sealer.open(sealed, { purpose, binding: await bindingOf(exchange) });
  if (!opened.ok) throw invalidState();
  const { answers, once, asked, userState, parked, rounds } = JSON.parse(opened.value);
  return {
    answers: new Map(Object.entries(answers)),
    once: new Map(Object.entries(once)),
    asked: new Map(Object.entries(asked)),
    rounds,
    ...(userState !== undefined && { userState }),
    ...(parked !== undefined && { parked }),
  };
}

async function bindingOf({ method, params, principal }: ServedExchange): Promise<string> {
  const { _meta, inputResponses, requestState, ...salient } = params;
  return canonicalJson([method, principal.key, await sha256(canonicalJson(salient))]);
}

const defaultQuestionTtlMs = 60 * 60_000;
const maxStateCharacters = 32 * 1024;

/** What the questions of one server need between their rounds. */
export interface RoundState {
  readonly keeper: StateSealer;
  readonly parking: Parking;
}

/** Made when the first question is asked: most servers never seal anything. */
export function roundsOf(runtime: Runtime): RoundState {
  if (!runtime.rounds) {
    const { secrets = [randomSecret()], storage = createMemoryStorage(), questionTtlMs } = runtime.snapshot.options;
    const ttlMs = questionTtlMs ?? defaultQuestionTtlMs;
    const sealer = createSealer({ secrets });
    runtime.rounds = {
      keeper: { sealer, storage, ttlMs, maxCharacters: maxStateCharacters },
      parking: new Parking(questionTtlMs),
    };
  }
  return runtime.rounds;
}

const defaultTtlMs = 10 * 60_000;
const maxParked = 1_000;

interface Place {
  readonly conversation: Conversation;
  readonly timer: ReturnType<typeof setTimeout>;
}

/** Handlers that wait in memory for their client's answers; bounded in number and time. */
export class Parking implements ParkingLot {
  readonly #places = new Map<string, Place>();
  readonly #ttlMs: number;

  constructor(ttlMs: number = defaultTtlMs) {
    this.#ttlMs = ttlMs;
  }

  park(conversation: Conversation): string {
    if (this.#places.size >= maxParked) {
      throw new PortolanError("limit-reached", `${maxParked} handlers wait for answers already; no further one can`);
    }
    const handle = crypto.randomUUID();
    const timer = setTimeout(() => {
      this.#places.delete(handle);
      conversation.abandon(new PortolanError("timeout", "The client did not come back with an answer in time"));
    }, this.#ttlMs);
    // A waiting handler does not keep a process alive that has nothing else to do.
    (timer as { unref?: () => void }).unref?.();
    this.#places.set(handle, { conversation, timer });
    return handle;
  }

  find(handle: string): Conversation | undefined {
    return this.#places.get(handle)?.conversation;
  }

  /** Forgets a handler that goes on: a second retry with the same state finds nothing, so that none runs twice. */
  release(handle: string): void {
    clearTimeout(this.#places.get(handle)?.timer);
    this.#places.delete(handle);
  }
}
