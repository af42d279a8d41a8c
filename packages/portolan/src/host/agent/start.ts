import { PortolanError } from "../../errors.ts";
import type { Model } from "../../models/model.ts";
import { Loop, type LoopOptions } from "./loop.ts";
import type { Run, RunEvent } from "./run.ts";
import { EventStream } from "./stream.ts";

/** A run and the way to tell its reader what happens around it. */
export interface StartedRun extends Run {
  tell(event: RunEvent): Promise<void>;
}

/** Sets a model to work at once. */
export function startRun(
  options: Omit<LoopOptions, "tell" | "signal" | "model"> & { model: Model | undefined },
): StartedRun {
  const { model, id } = options;
  if (!model) {
    throw new PortolanError("invalid-argument", "run: expected a model, got none; give one to the host or to the run");
  }
  const stop = new AbortController();
  const cancel = (reason = "the run was cancelled") => stop.abort(new PortolanError("cancelled", reason));
  const own = options.options.signal;
  const follow = () => stop.abort(own?.reason);
  if (own?.aborted) follow();
  else own?.addEventListener("abort", follow, { once: true });
  const stream = new EventStream(() => cancel("nobody reads the run any more"));
  // Whoever does not read on must not keep a run from ending.
  stop.signal.addEventListener("abort", () => stream.release(), { once: true });
  const tell = (event: RunEvent) => stream.tell(event);
  const loop = new Loop({ ...options, model, signal: stop.signal, tell });
  loop.run().finally(() => own?.removeEventListener("abort", follow));
  return { id, tell, cancel, result: stream.result, [Symbol.asyncIterator]: () => stream[Symbol.asyncIterator]() };
}
