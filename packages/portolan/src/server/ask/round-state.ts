import { PortolanError } from "../../errors.ts";
import { type JsonObject, serializeResult } from "../../jsonrpc/message.ts";
import { weigh } from "../../jsonrpc/weigh.ts";
import { invalidState, limitExceeded } from "../../protocol/errors.ts";
import type { Outcome } from "../../protocol/revision.ts";
import { canonicalJson, createSealer, randomSecret, type Sealer, sha256 } from "../../storage/crypto.ts";
import { createMemoryStorage } from "../../storage/memory.ts";
import type { Storage } from "../../storage/storage.ts";
import { StoredKeySealer } from "../../storage/stored-keys.ts";
import type { ReturnPath, ServedExchange } from "../call/exchange.ts";
import { Caller, Callers } from "../callers.ts";
import {
  defaultParkedTtlMs,
  defaultQuestionTtlMs,
  maxKeptBytes,
  maxKeptBytesPerCaller,
  maxStateCharacters,
  maxSubscriptionsPerChannel,
  parkedHandlerBytes,
  usedStateTtlMs,
} from "../limits.ts";
import { reportedStorage } from "../reported-storage.ts";
import type { ServerRuntime } from "../runtime.ts";
import type { Conversation } from "./conversation.ts";

/** The state that the questions of one server need between their rounds. */
export interface RoundState {
  /** Also counts other requests that are kept for long. */
  readonly budget: KeptBytes;
  readonly sealer: StateSealer;
  readonly parking: Parking;
}

/** Returns the round state of a server. It is made with the first question, because most servers never ask. */
export function roundStateOf(runtime: ServerRuntime): RoundState {
  if (!runtime.roundState) {
    const { secrets, storage = runtime.storage, questionTtlMs } = runtime.snapshot.options;
    const reported = storage && reportedStorage(runtime, storage);
    const ttlMs = questionTtlMs ?? defaultQuestionTtlMs;
    const budget = new KeptBytes();
    runtime.roundState = {
      budget,
      sealer: {
        sealer:
          reported && !secrets
            ? new StoredKeySealer(reported.kv)
            : createSealer({ secrets: secrets ?? [randomSecret()] }),
        storage: reported ?? createMemoryStorage(),
        ttlMs,
        budget,
        stored: new Map(),
        isShared: storage !== undefined,
        reportUnknownKey: () => reportUnknownKey(runtime),
      },
      parking: new Parking(budget, questionTtlMs),
    };
  }
  return runtime.roundState;
}

/** Servers whose operator was told that some of their states come from other processes. */
const reportedUnknownKey = new WeakSet<ServerRuntime>();

/** Reports that a state was sealed elsewhere. Once for each server, so that a hostile client cannot fill a log. */
function reportUnknownKey(runtime: ServerRuntime): void {
  if (reportedUnknownKey.has(runtime)) return;
  reportedUnknownKey.add(runtime);
  const what = "A client's requestState was sealed with a key that this process does not have, and was refused";
  const fix =
    runtime.snapshot.options.secrets === undefined
      ? "If several processes serve these clients, or if the server restarts, give all of them a common `storage`, or the same `secrets` of createServer"
      : "Give all processes the same `secrets`. To change one, append the new one in all of them, then move it to the front in all, and remove the old one after `questionTtlMs`";
  runtime.report(new PortolanError("invalid-argument", `${what}. ${fix}.`), { method: "requestState" });
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

/** The request that something is kept for. */
export interface KeptFor {
  readonly returnPath: Partial<ReturnPath>;
}

/** Counts the bytes that are kept for callers between their requests. */
export class KeptBytes {
  readonly #callers = new Callers({
    atOnce: {
      keptBytes: { perCaller: maxKeptBytesPerCaller, total: maxKeptBytes },
      subscriptions: { perCaller: maxSubscriptionsPerChannel },
    },
    perMinute: {},
  });
  /** The callers of transports that name none: each connection is one. */
  readonly #connections = new WeakMap<object, Caller>();

  /** Counts a request and the subscriptions in it until the returned function is called. Throws if they are too many. */
  holdSubscriptions(exchange: ServedExchange, subscriptions: number): () => void {
    const bytes = weigh(exchange.request);
    const caller = this.take(exchange, bytes, "another subscription");
    const full = caller.take("subscriptions", subscriptions);
    if (full) {
      caller.release("keptBytes", bytes);
      throw caller.beyond("subscriptions", full, "end earlier ones first");
    }
    return () => {
      caller.release("keptBytes", bytes);
      caller.release("subscriptions", subscriptions);
    };
  }

  /** Counts bytes for the caller of a request. Throws if the caller, or all callers together, have too much. */
  take({ returnPath }: KeptFor, bytes: number, what: string): Caller {
    const caller = this.#callerOf(returnPath);
    const exhausted = caller.take("keptBytes", bytes);
    if (exhausted === undefined) return caller;
    const whose = exhausted === "caller" ? "this caller" : "all callers";
    const why = `Too much is kept for ${whose} to keep ${what}; end or answer earlier requests first`;
    throw limitExceeded(why, exhausted);
  }

  #callerOf(path: KeptFor["returnPath"]): Caller {
    if (path.caller) return path.caller;
    let caller = this.#connections.get(path);
    if (!caller) {
      caller = new Caller(this.#callers, "");
      this.#connections.set(path, caller);
    }
    return caller;
  }
}

/** The parts that seal and open states. */
export interface StateSealer {
  readonly sealer: Sealer;
  /** Keeps states that are too long for clients to carry. */
  readonly storage: Storage;
  readonly ttlMs: number;
  readonly budget: KeptBytes;
  /** Tells the operator of a state that another process has sealed. */
  readonly reportUnknownKey: () => void;
  /** True if other processes may open the states in the storage. */
  readonly isShared: boolean;
  /** The states of this process in the storage, by handle. */
  readonly stored: Map<string, StoredState>;
}

/** A state in the storage, whose bytes are counted until it expires. */
interface StoredState {
  readonly release: () => void;
  expiry: ReturnType<typeof setTimeout>;
}

const purpose = "requestState";
const handlePrefix = "kept:";

/** Seals a state, bound to this call of this caller. */
export async function sealState(
  { sealer, storage, ttlMs, budget, stored }: StateSealer,
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
  const caller = budget.take(exchange, sealed.length, "the state of this call");
  const handle = handlePrefix + crypto.randomUUID();
  const release = () => {
    stored.delete(handle);
    caller.release("keptBytes", sealed.length);
  };
  stored.set(handle, { release, expiry: unrefTimeout(release, ttlMs) });
  await storage.kv.set(handle, sealed, { ttlMs });
  return handle;
}

/** Opens the state of a retry. Every wrong state gets the same error, so that a caller cannot probe for the reason. */
export async function openState(
  { sealer, storage, stored, ttlMs, isShared, reportUnknownKey }: StateSealer,
  exchange: ServedExchange,
  state: string,
): Promise<SealedState> {
  const sealed = state.startsWith(handlePrefix) ? await storage.kv.get(state) : state;
  if (sealed === undefined) {
    reportRefused(exchange, isShared ? notStored : notStoredHere);
    throw invalidState();
  }
  const opened = await sealer.open(sealed, { purpose, binding: await bindingOf(exchange) });
  if (!opened.ok) {
    if (opened.reason === "unknown-key") reportUnknownKey();
    if (opened.reason === "expired") {
      const late = `The requestState has expired: the answer came more than ${ttlMs / 1_000} s after the question`;
      reportRefused(exchange, `${late}, or the clocks of the nodes differ`);
    }
    throw invalidState();
  }
  const used = stored.get(state);
  if (used) {
    clearTimeout(used.expiry);
    used.expiry = unrefTimeout(used.release, usedStateTtlMs);
    await storage.kv.set(state, sealed, { ttlMs: usedStateTtlMs, expect: sealed });
  }
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

const notStored =
  "The stored requestState was not found: it has expired or was used before, or the processes use different storages";
const notStoredHere =
  "The stored requestState was not found: it has expired or was used before, or it is in the memory of another process. Processes behind one address need a common `storage` of createServer";

/** Tells the operator why a state was refused, which its client is not told. Over HTTP only: elsewhere one process has it. */
function reportRefused({ returnPath, request }: ServedExchange, reason: string): void {
  returnPath.caller?.refused({ status: 200, reason, request });
}

async function bindingOf({ method, params, principal }: ServedExchange): Promise<string> {
  const { _meta, inputResponses, requestState, ...salient } = params;
  return canonicalJson([method, principal.key, await sha256(canonicalJson(salient))]);
}

interface ParkedHandler {
  readonly conversation: Conversation;
  readonly timer: ReturnType<typeof setTimeout>;
  /** The request that it was parked on. */
  readonly exchange: ServedExchange;
  readonly caller: Caller;
  /** The bytes that are counted for it. */
  bytes: number;
}

/** Handlers that wait in memory for answers, bounded in bytes and time. */
export class Parking {
  readonly #handlers = new Map<string, ParkedHandler>();
  readonly #budget: KeptBytes;
  readonly #ttlMs: number;

  constructor(budget: KeptBytes, ttlMs: number = defaultParkedTtlMs) {
    this.#budget = budget;
    this.#ttlMs = ttlMs;
  }

  /**
   * Returns the handle under which the retry finds the handler. Throws if its caller has too much parked.
   *
   * @param exchange is the latest request of the handler
   * @param first is the request that began the handler, which stays in memory with it
   */
  park(conversation: Conversation, exchange: ServedExchange, first: ServedExchange = exchange): string {
    const later = exchange === first ? 0 : weigh(exchange.request);
    const bytes = parkedHandlerBytes + weigh(first.request) + later;
    const caller = this.#budget.take(exchange, bytes, "another call that waits for answers");
    const handle = crypto.randomUUID();
    const timer = unrefTimeout(() => {
      this.release(handle);
      conversation.abandon(new PortolanError("timeout", `The client did not answer within ${this.#ttlMs} ms`));
    }, this.#ttlMs);
    this.#handlers.set(handle, { conversation, timer, exchange, caller, bytes });
    return handle;
  }

  find(handle: string): Conversation | undefined {
    return this.#handlers.get(handle)?.conversation;
  }

  /** Keeps the outcome of a parked handler until its retry. Returns it; throws if it is too large or has no JSON form. */
  keep(handle: string, outcome: Outcome): Outcome {
    const parked = this.#handlers.get(handle);
    if (!parked) return outcome;
    if ("result" in outcome) serializeResult(outcome.result);
    const bytes = weigh(outcome);
    this.#budget.take(parked.exchange, bytes, "the result of this call until it was asked for");
    parked.bytes += bytes;
    return outcome;
  }

  /** Removes a handler that continues: a second retry with the same state finds nothing, so that none runs twice. */
  release(handle: string): void {
    const parked = this.#handlers.get(handle);
    if (!parked) return;
    clearTimeout(parked.timer);
    parked.caller.release("keptBytes", parked.bytes);
    this.#handlers.delete(handle);
  }
}

/** Sets a timer that does not keep the process alive. */
function unrefTimeout(work: () => void, ms: number): ReturnType<typeof setTimeout> {
  const timer = setTimeout(work, ms);
  (timer as { unref?: () => void }).unref?.();
  return timer;
}
