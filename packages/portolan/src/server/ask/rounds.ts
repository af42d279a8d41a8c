import { createSealer, randomSecret } from "../../storage/crypto.ts";
import { createMemoryStorage } from "../../storage/memory.ts";
import type { Runtime } from "../subscribe/runtime.ts";
import { Parking } from "./parking.ts";
import type { StateKeeper } from "./round-state.ts";

const defaultQuestionTtlMs = 60 * 60_000;
const maxStateCharacters = 32 * 1024;

/** What the questions of one server need between their rounds. */
export interface Rounds {
  readonly keeper: StateKeeper;
  readonly parking: Parking;
}

/** Made when the first question is asked: most servers never seal anything. */
export function roundsOf(runtime: Runtime): Rounds {
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
