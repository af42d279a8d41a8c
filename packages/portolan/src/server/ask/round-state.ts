import { PortolanError } from "../../errors.ts";
import type { JsonObject } from "../../jsonrpc/message.ts";
import { invalidState } from "../../protocol/errors.ts";
import { canonicalJson, createSealer, randomSecret, type Sealer, sha256 } from "../../storage/crypto.ts";
import { createMemoryStorage } from "../../storage/memory.ts";
import type { Storage } from "../../storage/storage.ts";
import type { ServedExchange } from "../call/exchange.ts";
import { defaultParkedTtlMs, defaultQuestionTtlMs, maxParkedHandlers, maxStateCharacters } from "../limits.ts";
import type { Runtime } from "../subscribe/hub.ts";
import type { Conversation } from "./conversation.ts";

/** The state that the questions of one server need between their rounds. */
export interface RoundState {
  readonly sealer: StateSealer;
  readonly parking: Parking;
}

/** Returns the round state of a server. It is made with the first question, because most servers never ask. */
export function roundStateOf(runtime: Runtime): RoundState {
  if (!runtime.roundState) {
    const { secrets = [randomSecret()], storage = createMemoryStorage(), questionTtlMs } = runtime.snapshot.options;
    const ttlMs = questionTtlMs ?? defaultQuestionTtlMs;
    runtime.roundState = {
      sealer: { sealer: createSealer({ secrets }), storage, ttlMs },
      parking: new Parking(questionTtlMs),
    };
  }
  return runtime.roundState;
}

/** The results of earlier rounds of a call. The client carries them, sealed, as `requestState`. */
export interface SealedState {
  /** Answers by key, each with the digest of the question it answers. */
  readonly answers: Map<string, { digest: string; answer: JsonObject }>;
  /** Results of `once`, as JSON text. */
  readonly once: Map<string, string>;
  /** Digests of the questions of the last round, by key. */
  readonly asked: Map<string, string>;
  /** The state given to `inputRequired`, as JSON text. */
  userState?: string;
  /** The handle of a parked handler. */
  parked?: string;
  rounds: number;
}

export function emptyState(): SealedState {
  return { answers: new Map(), once: new Map(), asked: new Map(), rounds: 0 };
}

/** The parts that seal and open states. */
export interface StateSealer {
  readonly sealer: Sealer;
  /** Keeps states that are too long for clients to carry. */
  readonly storage: Storage;
  readonly ttlMs: number;
}

const purpose = "requestState";
const handlePrefix = "kept:";

/** Seals a state, bound to this call of this caller. */
export async function sealState(
  { sealer, storage, ttlMs }: StateSealer,
  exchange: ServedExchange,
  state: SealedState,
): Promise<string> {
  const value = JSON.stringify({
    answers: Object.fromEntries(state.answers),
    once: Object.fromEntries(state.once),
    asked: Object.fromEntries(state.asked),
    userState: state.userState,
    parked: state.parked,
    rounds: state.rounds,
  });
  const sealed = await sealer.seal(value, { purpose, binding: await bindingOf(exchange), ttlMs });
  if (sealed.length <= maxStateCharacters) return sealed;
  const handle = handlePrefix + crypto.randomUUID();
  await storage.kv.set(handle, sealed, { ttlMs });
  return handle;
}

/** Opens the state of a retry. Every wrong state gets the same error, so that a caller cannot probe for the reason. */
export async function openState(
  { sealer, storage }: StateSealer,
  exchange: ServedExchange,
  state: string,
): Promise<SealedState> {
  const sealed = state.startsWith(handlePrefix) ? await storage.kv.get(state) : state;
  if (sealed === undefined) throw invalidState();
  const opened = await sealer.open(sealed, { purpose, binding: await bindingOf(exchange) });
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

interface ParkedHandler {
  readonly conversation: Conversation;
  readonly timer: ReturnType<typeof setTimeout>;
}

/** Handlers that wait in memory for answers, bounded in number and time. */
export class Parking {
  readonly #handlers = new Map<string, ParkedHandler>();
  readonly #ttlMs: number;

  constructor(ttlMs: number = defaultParkedTtlMs) {
    this.#ttlMs = ttlMs;
  }

  /** Returns the handle under which the retry finds the handler. */
  park(conversation: Conversation): string {
    if (this.#handlers.size >= maxParkedHandlers) {
      throw new PortolanError(
        "limit-reached",
        `${maxParkedHandlers} handlers wait for answers, the most that may wait`,
      );
    }
    const handle = crypto.randomUUID();
    const timer = setTimeout(() => {
      this.#handlers.delete(handle);
      conversation.abandon(new PortolanError("timeout", `The client did not answer within ${this.#ttlMs} ms`));
    }, this.#ttlMs);
    // A parked handler does not keep the process alive.
    (timer as { unref?: () => void }).unref?.();
    this.#handlers.set(handle, { conversation, timer });
    return handle;
  }

  find(handle: string): Conversation | undefined {
    return this.#handlers.get(handle)?.conversation;
  }

  /** Removes a handler that continues: a second retry with the same state finds nothing, so that none runs twice. */
  release(handle: string): void {
    clearTimeout(this.#handlers.get(handle)?.timer);
    this.#handlers.delete(handle);
  }
}
