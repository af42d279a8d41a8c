import type { HostEvent, RunningCall } from "./api.ts";
import type { LoggedCall, ShownFailure } from "./calls.ts";

// Apart from the calls themselves: without a reader of events nothing of this runs.

/** Returns a call as a user interface shows it. */
export function toRunningCall(logged: LoggedCall): RunningCall {
  const { args, argsText, beganAt: startedAt, options } = logged;
  return {
    ...factsOf(logged),
    ...(args !== undefined && { args }),
    ...(argsText !== undefined && { argumentsText: argsText }),
    ...(options.run !== undefined && { run: options.run }),
    startedAt,
  };
}

export function callEvent(logged: LoggedCall): HostEvent {
  return { kind: "call", ...toRunningCall(logged) };
}

export function endedEvent(logged: LoggedCall, ms: number, failure?: ShownFailure): HostEvent {
  const { how = "done", message } = failure ?? {};
  return { kind: "ended", ...factsOf(logged), how, ms, ...(message !== undefined && { error: message }) };
}

function factsOf({ kind, id, server, name, app, options }: LoggedCall) {
  const { by = "model", callId } = options;
  const what: RunningCall["what"] = kind === "call" ? "tool" : kind;
  return {
    ...{ id, server: server.name, what, name, by },
    ...(app !== undefined && { app }),
    ...(callId !== undefined && { callId }),
  };
}
