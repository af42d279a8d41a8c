import { createHost, type Host, type HostAnswers, type HostOptions, type ServerEntry } from "portolan/host";
import { createAnswers } from "./ask/index.ts";
import type { Context } from "./command.ts";
import { Failure } from "./failure.ts";

/** Runs some work with a host over these servers, and ends both. */
export async function withHost<T>(
  context: Context,
  servers: readonly ServerEntry[],
  work: (host: Host) => Promise<T>,
  options: Omit<HostOptions, "servers" | "storage" | "activity"> = {},
): Promise<T> {
  const { state, screen, signal } = context;
  const activity = await state.activity();
  const answers: HostAnswers = { ...createAnswers(context), ...options.answers };
  const auth = state.auth({ interactive: screen.isInteractive });
  const host = await createHost({
    info: { name: "portolan", version: "0.1.0" },
    auth: () => auth,
    ...options,
    answers,
    servers,
    activity,
    storage: { kv: state.kv },
  });
  try {
    return await untilInterrupted(work(host), signal);
  } catch (reason) {
    throw explain(reason, host);
  } finally {
    await host.close();
    await activity.close();
  }
}

/** Whoever interrupts is not kept waiting by what cannot be cancelled. */
function untilInterrupted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const interrupt = () => reject(signal.reason);
    if (signal.aborted) interrupt();
    signal.addEventListener("abort", interrupt, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", interrupt));
  });
}

/** Adds the next step where the state of a server says it. */
function explain(reason: unknown, host: Host): unknown {
  if (reason instanceof Failure || !(reason instanceof Error)) return reason;
  for (const { name, state, reason: why } of host.servers) {
    if (state === "login") {
      return new Failure("auth", `${name} wants a login${why ? `: ${why}` : ""}`, {
        next: `portolan login ${name}`,
        cause: reason,
      });
    }
    if (state === "untrusted") {
      const next = `portolan trust ${name}`;
      return new Failure("denied", `${name} is not trusted yet, so it is not started`, { next, cause: reason });
    }
    if (state === "misconfigured")
      return new Failure("usage", `${name}: ${why}`, { next: "portolan doctor", cause: reason });
  }
  return reason;
}
