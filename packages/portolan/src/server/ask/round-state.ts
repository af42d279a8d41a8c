import type { JsonObject } from "../../jsonrpc/message.ts";
import { invalidState } from "../../protocol/errors.ts";
import type { Sealer } from "../../storage/crypto.ts";
import { canonicalJson, sha256 } from "../../storage/crypto.ts";
import type { Storage } from "../../storage/storage.ts";
import type { ServedExchange } from "../call/exchange.ts";

/** What earlier rounds of a call have settled; it travels with the client, sealed. */
export interface Kept {
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

export function nothingKept(): Kept {
  return { answers: new Map(), once: new Map(), asked: new Map(), rounds: 0 };
}

/** What sealing and opening need. */
export interface StateKeeper {
  readonly sealer: Sealer;
  readonly storage: Storage;
  readonly ttlMs: number;
  /** Above this many characters the state stays here and a handle travels. */
  readonly maxCharacters: number;
}

const purpose = "requestState";
const handlePrefix = "kept:";

/** Seals what is kept, bound to this very call by this very caller. */
export async function sealState(keeper: StateKeeper, exchange: ServedExchange, kept: Kept): Promise<string> {
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
export async function openState(keeper: StateKeeper, exchange: ServedExchange, state: string): Promise<Kept> {
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
