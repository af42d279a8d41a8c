import { toError } from "../client/failures.ts";
import { PortolanError } from "../errors.ts";
import type { JsonObject } from "../jsonrpc/message.ts";
import type { ActivityLog } from "./activity/index.ts";
import type { HostCallOptions } from "./api.ts";
import type { Asking } from "./asking.ts";
import type { CatalogTool } from "./catalog/catalog.ts";
import { findSuspicious } from "./display/index.ts";
import type { HostedServer } from "./hosted-server.ts";
import { argumentsDigest, type Caution, type Grants, hintsOf, type Policy, type PolicyCall } from "./policy/index.ts";
import type { Action, ApprovalVerdict } from "./questions.ts";

const nobody: readonly string[] = [];

/** What somebody wishes to do: what it is called in the log, and what a grant for it is bound to. */
interface Wish {
  readonly id: string;
  readonly kind: "tool" | "resource";
  readonly server: HostedServer;
  readonly subject: string;
  readonly digest: string;
  readonly action: Action;
  readonly reason: string;
  readonly cautions: readonly Caution[];
  /** Whose words a grant must have known of. */
  readonly knowing: readonly string[];
  readonly words: string;
  readonly resembles?: string;
}

/** Decides whether something may be done on the user's behalf: by rule, by an earlier answer, or by asking. */
export class Consent {
  readonly #policy: Policy;
  readonly #grants: Grants;
  readonly #asking: Asking;
  readonly #activity: ActivityLog;
  /** Tools that a rule allows whatever they are called with, and whether their server's hints counted then. */
  readonly #allowed = new WeakMap<CatalogTool, boolean>();

  constructor(policy: Policy, grants: Grants, asking: Asking, activity: ActivityLog) {
    this.#policy = policy;
    this.#grants = grants;
    this.#asking = asking;
    this.#activity = activity;
  }

  /** Returns when a tool may be called, at once where a rule says so; throws or rejects with "denied" when it may not. */
  permitTool(
    id: string,
    server: HostedServer,
    tool: CatalogTool,
    args: JsonObject,
    options: HostCallOptions,
  ): Promise<void> | undefined {
    const { conversation, by = "model" } = options;
    if (!conversation && this.#allowed.get(tool) === server.trustsHints) return undefined;
    const { definition, name } = tool;
    const contentFrom = conversation ? [...conversation.contentFrom] : nobody;
    const resourcesFrom = conversation ? [...conversation.resourcesFrom] : nobody;
    const hints = hintsOf(definition, server.trustsHints);
    const call: PolicyCall = {
      server: server.name,
      tool: name,
      name: `${server.name}.${name}`,
      readOnly: hints.readOnly,
      destructive: hints.destructive,
      idempotent: hints.idempotent,
      openWorld: hints.openWorld,
      trusted: server.trustsHints,
      definition,
      args,
      contentFrom,
      resourcesFrom,
    };
    const { effect, reason, cautions, rule } = this.#policy.decide(call);
    if (effect === "allow") {
      if (!conversation && this.#policy.allowsAlways(call)) this.#allowed.set(tool, server.trustsHints);
      return undefined;
    }
    if (effect === "deny") {
      this.#note(id, server, name, { effect, reason, ...(rule !== undefined && { rule }) });
      throw denied(`${call.name} is not allowed: ${reason}`);
    }
    // What the user does by hand is the user's answer.
    if (by === "user") return undefined;
    return this.#ask(
      {
        id,
        kind: "tool",
        server,
        subject: name,
        digest: tool.digest,
        action: { kind: "tool", tool: name, args, definition },
        reason,
        cautions,
        knowing: cautions.flatMap(({ from }) => from),
        words: JSON.stringify(definition),
        ...(tool.resembles !== undefined && { resembles: tool.resembles }),
      },
      args,
      options,
    );
  }

  /** Resolves when a model may see a resource. */
  async permitResource(id: string, server: HostedServer, uri: string, options: HostCallOptions): Promise<void> {
    if (options.by === "user") return;
    const wish: Wish = {
      id,
      kind: "resource",
      server,
      subject: uri,
      digest: "resource",
      action: { kind: "resource", uri },
      reason: "Data of the server would go to the model.",
      cautions: [],
      knowing: [],
      words: "",
    };
    await this.#ask(wish, undefined, options);
  }

  async #ask(wish: Wish, args: JsonObject | undefined, options: HostCallOptions): Promise<void> {
    const { id, kind, server, subject, digest, knowing, action, reason, cautions, resembles } = wish;
    const what = `${server.name}.${subject}`;
    const bound = { kind, server: server.name, serverDigest: server.digest, subject, digest } as const;
    const query = { ...bound, contentFrom: knowing };
    const argsDigest = args && this.#grants.needsArguments(query) ? await argumentsDigest(args) : undefined;
    const known = this.#grants.find(argsDigest === undefined ? query : { ...query, args: argsDigest });
    if (known) {
      this.#note(id, server, subject, { effect: known.allow ? "allow" : "deny", grant: known.id });
      if (known.allow) return;
      throw denied(`${what} is not allowed: the user said no, ${known.scope === "always" ? "for good" : "for now"}`);
    }
    if (!this.#asking.answers("approve", options.answers)) {
      this.#note(id, server, subject, { effect: "deny", reason: "nobody to ask" });
      throw denied(
        `${what} needs the user's approval, and nobody is asked here: give the host \`answers.approve\`, or a rule`,
      );
    }
    const asked = this.#asking.ask<"approve">(
      {
        kind: "approve",
        server: server.name,
        action,
        reason,
        cautions,
        findings: findSuspicious(wish.words),
        ...(resembles !== undefined && { resembles }),
        ...(options.run !== undefined && { run: options.run }),
        ...(options.callId !== undefined && { callId: options.callId }),
      },
      { own: options.answers, signal: options.signal },
    );
    const verdict = await asked.catch((thrown) => {
      this.#note(id, server, subject, { effect: "unanswered", reason: toError(thrown).message });
      throw thrown;
    });
    await this.#remember(verdict, bound, knowing, args);
    const { allow, for: scope = "once", reason: why } = verdict;
    this.#note(id, server, subject, { effect: allow ? "allow" : "deny", by: "user", scope, cautions });
    if (!allow) throw denied(`${what} was not approved by the user${why === undefined ? "" : `: ${why}`}`);
  }

  async #remember(
    { allow, for: scope = "once", onlyTheseArguments }: ApprovalVerdict,
    bound: { kind: "tool" | "resource"; server: string; serverDigest: string; subject: string; digest: string },
    knowing: readonly string[],
    args: JsonObject | undefined,
  ): Promise<void> {
    if (scope === "once") return;
    const { id } = await this.#grants.add({
      ...bound,
      allow,
      scope,
      knowing,
      ...(onlyTheseArguments && args && { args: await argumentsDigest(args) }),
    });
    this.#activity.record(
      {
        kind: "grant",
        server: bound.server,
        name: bound.subject,
        grant: id,
        of: bound.kind,
        allow,
        scope,
      },
      { urgent: true },
    );
  }

  #note(id: string, server: HostedServer, name: string, data: object): void {
    this.#activity.record({ kind: "decision", server: server.name, name, id, ...data }, { urgent: true });
  }
}

/** Something that the user, or a rule of the user, does not want. */
export function denied(message: string): PortolanError {
  return new PortolanError("denied", message);
}
