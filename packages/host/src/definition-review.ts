import type { JsonObject, Tool } from "portolan";
import { PortolanError } from "portolan";
import { onAbort, toError } from "portolan/internal";
import type { ActivityLog } from "./activity/index.ts";
import type { LoggedCall } from "./calls.ts";
import { DeniedError, denied, noWayToAsk } from "./consent.ts";
import { findSuspicious } from "./display/index.ts";
import { maxDefinitionReviews } from "./limits.ts";
import type { OpenQuestions } from "./open-questions.ts";
import type { ChangedDefinition } from "./policy/index.ts";
import type { AnswerReceipt, ApprovalVerdict } from "./questions.ts";
import type { Servers } from "./servers.ts";

/** Parts of the host that ask about changed definitions. */
export interface DefinitionReviewOptions {
  readonly servers: Servers;
  readonly questions: OpenQuestions;
  readonly activity: ActivityLog;
}

/** Asks the user about the changed definition of a tool that a call wants. */
export class DefinitionReview {
  readonly #options: DefinitionReviewOptions;

  constructor(options: DefinitionReviewOptions) {
    this.#options = options;
  }

  /** Resolves when the tool has an accepted definition. Rejects with "denied" if the user does not accept it. */
  async ask(logged: LoggedCall, definition: Tool): Promise<void> {
    const { server, name } = logged;
    for (let times = 0; times < maxDefinitionReviews; times += 1) {
      const change = this.#options.servers.changeOf(server.name, name);
      if (!change) return;
      if (await this.#isSettled(logged, change, definition)) return;
    }
    const reason = "its definition changes again and again";
    this.#log(logged, undefined, { effect: "deny", reason });
    throw denied(`${server.name}.${name}`, `is blocked: ${reason}`, "definition-changed");
  }

  /** Returns false if the definition is no longer the one that the question showed. */
  async #isSettled(logged: LoggedCall, change: ChangedDefinition, definition: Tool): Promise<boolean> {
    const { questions } = this.#options;
    const servers = this.#options.servers;
    const { id, server, name, options } = logged;
    const { signal } = options;
    const { acceptedAt } = change;
    const stop = new AbortController();
    let isOutdated = false;
    const stopWatching = servers.watchChange(server.name, change, () => {
      isOutdated = true;
      stop.abort(
        new PortolanError("cancelled", `The definition of ${server.name}.${name} is not the one that was shown`),
      );
    });
    const stopWaiting = signal && onAbort(signal, () => stop.abort(signal.reason));
    if (signal?.aborted) stop.abort(signal.reason);
    const state = { isRecorded: false };
    try {
      const { allow, reason, isUnasked } = await questions.ask<"changed">(
        {
          kind: "changed",
          server: server.name,
          call: id,
          change,
          ...(acceptedAt !== undefined && { acceptedAt }),
          action: { kind: "tool", tool: name, args: argumentsOf(logged), definition },
          findings: findSuspicious(JSON.stringify(change.after)),
          ...(options.run !== undefined && { run: options.run }),
          ...(options.callId !== undefined && { callId: options.callId }),
        },
        {
          own: options.answers,
          signal: stop.signal,
          record: (verdict, by) => {
            state.isRecorded = true;
            return this.#record(logged, change, verdict, by);
          },
        },
      );
      if (allow) return true;
      const because = reason === undefined ? "" : `: ${reason}`;
      const what = `${server.name}.${name}`;
      if (!isUnasked)
        throw denied(what, `is blocked: the user did not accept its changed definition${because}`, "user");
      throw denied(what, `needs the user's approval${because || `: ${noWayToAsk}`}`, "nobody-to-ask");
    } catch (reason) {
      const isMoot = isOutdated && !(reason instanceof DeniedError) && !signal?.aborted && !logged.cancelled;
      if (isMoot) return false;
      const failure = { effect: "unanswered", reason: toError(reason).message };
      if (!state.isRecorded) this.#log(logged, change, failure);
      throw reason;
    } finally {
      stopWatching();
      stopWaiting?.();
    }
  }

  async #record(
    logged: LoggedCall,
    change: ChangedDefinition,
    { allow, reason, isUnasked = false }: ApprovalVerdict,
    answeredBy: string | undefined,
  ): Promise<AnswerReceipt> {
    if (!allow && isUnasked) {
      this.#log(logged, change, { effect: "deny", reason: reason ?? noWayToAsk });
      return {};
    }
    const by = { by: "user", ...(answeredBy !== undefined && { answeredBy }) };
    this.#log(logged, change, { effect: allow ? "allow" : "deny", ...by });
    if (allow) await this.#options.servers.accept(logged.server.name, change, answeredBy);
    return {};
  }

  #log({ id, server, name }: LoggedCall, change: ChangedDefinition | undefined, data: object): void {
    const entry = { kind: "decision", server: server.name, name, id, of: "definition" } as const;
    this.#options.activity.record({ ...entry, ...(change && { digest: change.digest }), ...data }, { urgent: true });
  }
}

function argumentsOf({ args, argsText }: LoggedCall): JsonObject {
  return argsText === undefined ? (args ?? {}) : (JSON.parse(argsText) as JsonObject);
}
