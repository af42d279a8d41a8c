import type { JsonObject } from "portolan";
import { PortolanError } from "portolan";
import { onAbort, toError } from "portolan/internal";
import { canonicalJson, sha256 } from "portolan/storage";
import { type ActivityLog, recordNow } from "./activity/index.ts";
import type { HostCallOptions } from "./api.ts";
import type { OfferedTool } from "./apps/access.ts";
import type { CatalogTool } from "./catalog/catalog.ts";
import { findSuspicious } from "./display/index.ts";
import type { HostedServer } from "./hosted-server.ts";
import type { OpenQuestions } from "./open-questions.ts";
import {
  argumentsDigest,
  type Caution,
  type Grants,
  hintsOf,
  type NewGrant,
  type Policy,
  type PolicyCall,
} from "./policy/index.ts";
import type { Action, AnswerReceipt, ApprovalVerdict, SkillAction } from "./questions.ts";

const none: readonly string[] = [];
export const noWayToAsk = "no way to ask the user";
const changedSince = "The app has changed this tool since it first offered it.";
const repeated = "The call was sent before, and its end is not known: it may have taken effect.";

/** One action that needs consent: its name in the log, and the digests that a grant is bound to. */
interface ConsentRequest {
  readonly id: string;
  readonly kind: "tool" | "resource" | "app" | "skill";
  readonly server: HostedServer;
  readonly subject: string;
  readonly digest: string;
  readonly action: Action;
  readonly reason: string;
  readonly rule?: number | undefined;
  readonly cautions: readonly Caution[];
  /** Servers of the cautions: a grant must have been given in their presence. */
  readonly contentFrom: readonly string[];
  readonly definitionText: string;
  readonly resembles?: string;
  /** True if no earlier answer counts, and this one is not kept. */
  readonly isOnce?: boolean;
  /** Ends every answer that is kept, and none is stored. */
  readonly until?: AbortSignal;
}

/** Decides whether an action is allowed: by a rule, by a grant, or by asking the user. */
export class Consent {
  readonly #policy: Policy;
  readonly #grants: Grants;
  readonly #questions: OpenQuestions;
  readonly #activity: ActivityLog;
  /** Tools that a rule allows with any arguments, and whether their server's hints were trusted at that time. */
  readonly #allowed = new WeakMap<CatalogTool, boolean>();

  constructor(policy: Policy, grants: Grants, questions: OpenQuestions, activity: ActivityLog) {
    this.#policy = policy;
    this.#grants = grants;
    this.#questions = questions;
    this.#activity = activity;
  }

  /**
   * Returns undefined if a rule allows the call; otherwise a promise of the user's consent. Throws or rejects with
   * "denied".
   */
  permitTool(
    id: string,
    server: HostedServer,
    tool: CatalogTool,
    args: JsonObject,
    options: HostCallOptions,
  ): Promise<void> | undefined {
    const { conversation, by = "model", mayHaveRun = false } = options;
    if (!conversation && !mayHaveRun && this.#allowed.get(tool) === server.trustsHints) return undefined;
    const { definition, name } = tool;
    const contentFrom = conversation ? [...conversation.contentFrom] : none;
    const resourcesFrom = conversation ? [...conversation.resourcesFrom] : none;
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
    if (effect === "allow" && !mayHaveRun) {
      if (!conversation && this.#policy.allowsAlways(call)) this.#allowed.set(tool, server.trustsHints);
      return undefined;
    }
    if (effect === "deny") {
      this.#record(id, server, name, { effect, reason, ...(rule !== undefined && { rule }) });
      throw denied(call.name, `is not allowed: ${reason}`, "rule");
    }
    // A call by the user is the user's consent.
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
        rule: effect === "ask" ? rule : undefined,
        cautions,
        contentFrom: cautions.flatMap(({ from }) => from),
        definitionText: JSON.stringify(definition),
        ...(tool.resembles !== undefined && { resembles: tool.resembles }),
        ...(mayHaveRun && { isOnce: true }),
      },
      args,
      options,
    );
  }

  /**
   * Resolves if a tool that an app offers may be called; rejects with "denied". It needs at least what a tool of its server
   * needs: no rule allows it that was not written for apps, and an answer ends with the app.
   */
  async permitAppTool(
    id: string,
    server: HostedServer,
    tool: OfferedTool,
    args: JsonObject,
    options: HostCallOptions & { readonly resembles?: string | undefined },
  ): Promise<void> {
    const { conversation, by = "model", mayHaveRun = false, resembles } = options;
    const { app, name, definition, digest, isChanged, until } = tool;
    const decision = this.#policy.decide({
      ...{ server: server.name, tool: name, name: `${server.name}.${name}`, definition, args, app },
      ...hintsOf(definition, server.trustsHints),
      trusted: server.trustsHints,
      contentFrom: conversation ? [...conversation.contentFrom] : none,
      resourcesFrom: conversation ? [...conversation.resourcesFrom] : none,
    });
    const { effect, reason, cautions, rule } = decision;
    const subject = `${app}#${name}`;
    if (effect === "deny") {
      this.#record(id, server, subject, { effect, reason, ...(rule !== undefined && { rule }) });
      throw denied(`${server.name}.${subject}`, `is not allowed: ${reason}`, "rule");
    }
    // A call by the user is the user's consent.
    if (by === "user") return;
    // A server's tool that changed is set aside until the user accepts it; an app's tools are asked about instead.
    if (effect === "allow" && !isChanged && !mayHaveRun) return;
    const request: ConsentRequest = {
      ...{ id, kind: "tool", server, subject, digest, until },
      action: { kind: "tool", tool: name, args, definition, app },
      reason: effect === "allow" && isChanged ? changedSince : reason,
      rule: effect === "ask" ? rule : undefined,
      cautions,
      contentFrom: cautions.flatMap(({ from }) => from),
      definitionText: JSON.stringify(definition),
      ...(resembles !== undefined && { resembles }),
      ...(mayHaveRun && { isOnce: true }),
    };
    await this.#ask(request, args, options);
  }

  /** Resolves if the resource may be sent to the model; rejects with "denied". A user and an app read for themselves. */
  async permitResource(id: string, server: HostedServer, uri: string, options: HostCallOptions): Promise<void> {
    if (options.by === "user" || options.by === "app") return;
    const cautions = foreignSkills(server, options);
    const request: ConsentRequest = {
      id,
      kind: "resource",
      server,
      subject: uri,
      digest: "resource",
      action: { kind: "resource", uri },
      reason: "The resource would be sent to the model.",
      cautions,
      contentFrom: [],
      definitionText: "",
      // A skill of one server must not read from another one by an answer that was given for something else.
      ...((cautions.length > 0 || options.mayHaveRun) && { isOnce: true }),
    };
    await this.#ask(request, undefined, options);
  }

  /** Resolves if a skill may be loaded; rejects with "denied". A rule may deny it as the tool `load_skill` of the server. */
  async permitSkill(id: string, server: HostedServer, action: SkillAction, options: HostCallOptions): Promise<void> {
    const { uri } = action.skill;
    const definition = { name: "load_skill", inputSchema: { type: "object" } } as const;
    const { effect, reason, rule } = this.#policy.decide({
      server: server.name,
      tool: definition.name,
      name: `${server.name}.${definition.name}`,
      readOnly: false,
      destructive: true,
      idempotent: false,
      openWorld: true,
      trusted: false,
      definition,
      args: { uri },
      contentFrom: none,
      resourcesFrom: none,
    });
    if (effect === "deny") {
      this.#record(id, server, uri, { effect, reason, ...(rule !== undefined && { rule }) });
      throw denied(`${server.name}.${uri}`, `is not allowed: ${reason}`, "rule");
    }
    if (options.by === "user") return;
    const cautions = foreignSkills(server, options);
    const { digest } = action;
    const request: ConsentRequest = {
      id,
      kind: "skill",
      server,
      subject: uri,
      digest: digest ?? "dynamic",
      action,
      reason: "The model would get these instructions of the server.",
      cautions,
      contentFrom: [],
      definitionText: JSON.stringify(action.skill.frontmatter),
      ...((digest === undefined || cautions.length > 0 || options.mayHaveRun) && { isOnce: true }),
    };
    await this.#ask(request, undefined, options);
  }

  /** Resolves if an app may be shown, with what it declares; rejects with "denied". */
  async permitApp(
    id: string,
    server: HostedServer,
    action: Extract<Action, { kind: "app" }>,
    options: HostCallOptions,
  ): Promise<void> {
    const { uri, sources, permissions } = action;
    const request: ConsentRequest = {
      id,
      kind: "app",
      server,
      subject: uri,
      // A grant covers exactly what the user saw: other origins or permissions are asked about again.
      digest: await sha256(canonicalJson({ uri, sources: sources ? { ...sources } : null, permissions })),
      action,
      reason: "The app would be shown and run.",
      cautions: [],
      contentFrom: [],
      definitionText: "",
    };
    await this.#ask(request, undefined, options);
  }

  async #ask(request: ConsentRequest, args: JsonObject | undefined, options: HostCallOptions): Promise<void> {
    const { id, kind, server, subject, digest, contentFrom, action, reason, rule, cautions, resembles } = request;
    const { isOnce = false, until } = request;
    const what = `${server.name}.${subject}`;
    const bound = { kind, server: server.name, serverDigest: server.digest, subject, digest } as const;
    const query = { ...bound, contentFrom: contentFrom };
    const argsDigest = args && this.#grants.needsArguments(query) ? await argumentsDigest(args) : undefined;
    const { mayHaveRun = false } = options;
    const known =
      isOnce && !mayHaveRun
        ? undefined
        : this.#grants.find(argsDigest === undefined ? query : { ...query, args: argsDigest });
    // A yes to the first call is none to the second one.
    if (known && !(mayHaveRun && known.allow)) {
      this.#grants.use(known.id);
      this.#record(id, server, subject, { effect: known.allow ? "allow" : "deny", grant: known.id });
      if (known.allow) return;
      const until = known.scope === "always" && known.expiresAt !== undefined;
      const time = until ? `until ${new Date(known.expiresAt ?? 0).toISOString().slice(0, 10)}` : "for this session";
      throw denied(what, `is not allowed: the user denied it ${time}`, "user");
    }
    if (!this.#questions.canAsk("approve", options.answers)) {
      this.#record(id, server, subject, { effect: "deny", reason: noWayToAsk });
      throw denied(
        what,
        "needs the user's approval, but this host cannot ask: give the host `answers.approve`, or a rule that allows the call",
        "nobody-to-ask",
      );
    }
    let isRecorded = false;
    const record = async (verdict: ApprovalVerdict, answeredBy: string | undefined): Promise<AnswerReceipt> => {
      isRecorded = true;
      const { allow, reason: why, isUnasked = false } = verdict;
      if (!allow && isUnasked) {
        this.#record(id, server, subject, { effect: "deny", reason: why ?? noWayToAsk });
        return {};
      }
      const kept = until && verdict.for === "always" ? "session" : (verdict.for ?? "once");
      const scope = isOnce ? "once" : kept;
      const effect = allow ? "allow" : "deny";
      const decision = { effect, by: "user", ...(answeredBy !== undefined && { answeredBy }), scope, cautions };
      if (scope !== "once") {
        const receipt = await this.#remember(id, verdict, { ...bound, scope, contentFrom }, args, decision);
        if (until) this.#endWith(until, receipt.grant);
        return receipt;
      }
      this.#record(id, server, subject, decision);
      return {};
    };
    const asked = this.#questions.ask<"approve">(
      {
        kind: "approve",
        server: server.name,
        // An app is opened before it makes calls.
        ...(kind !== "app" && { call: id }),
        action,
        reason: mayHaveRun ? `${repeated} ${reason}` : reason,
        ...(rule !== undefined && { rule }),
        ...(mayHaveRun && { mayHaveRun }),
        cautions,
        findings: findSuspicious(request.definitionText),
        ...(resembles !== undefined && { resembles }),
        ...(isOnce && { isOnce }),
        ...(options.run !== undefined && { run: options.run }),
        ...(options.callId !== undefined && { callId: options.callId }),
        ...(options.by === "app" && { by: "app" }),
      },
      { own: options.answers, signal: options.signal, record },
    );
    const {
      allow,
      reason: why,
      isUnasked,
    } = await asked.catch((thrown) => {
      if (!isRecorded) this.#record(id, server, subject, { effect: "unanswered", reason: toError(thrown).message });
      throw thrown;
    });
    if (allow) return;
    const because = why === undefined ? "" : `: ${why}`;
    if (!isUnasked) throw denied(what, `was not approved by the user${because}`, "user");
    throw denied(what, `needs the user's approval${because || `: ${noWayToAsk}`}`, "nobody-to-ask");
  }

  /** Stores a grant after it and the decision that makes it are in the log. */
  async #remember(
    id: string,
    { allow, onlyTheseArguments }: ApprovalVerdict,
    bound: Pick<NewGrant, "kind" | "server" | "serverDigest" | "subject" | "digest" | "scope" | "contentFrom">,
    args: JsonObject | undefined,
    decision: object,
  ): Promise<{ readonly grant: string }> {
    const { kind: of, server, subject: name, scope } = bound;
    const only = onlyTheseArguments && args ? { args: await argumentsDigest(args) } : {};
    const { id: grant } = await this.#grants.add({ ...bound, allow, ...only }, async (grant) => {
      const entry = { kind: "grant", server, name, grant: grant.id, of, allow, scope } as const;
      await recordNow(this.#activity, entry, { kind: "decision", server, name, id, ...decision });
    });
    return { grant };
  }

  /** Removes a grant when the signal aborts. */
  #endWith(until: AbortSignal, grant: string): void {
    const expire = async () => {
      if (!(await this.#grants.expire(grant))) return;
      this.#activity.record({ kind: "grant", grant, revoked: true }, { urgent: true });
    };
    // A grant of the session is in memory only, so that its end cannot fail.
    if (until.aborted) void expire();
    else onAbort(until, () => void expire());
  }

  #record(id: string, server: HostedServer, name: string, data: object): void {
    this.#activity.record({ kind: "decision", server: server.name, name, id, ...data }, { urgent: true });
  }
}

/** Returns a caution if the conversation acts on skills of other servers, which may have led to a read from this one. */
function foreignSkills({ name }: HostedServer, { conversation }: HostCallOptions): readonly Caution[] {
  const from = [...(conversation?.skillsFrom ?? [])].filter((server) => server !== name);
  return from.length === 0 ? [] : [{ kind: "untrusted-content", from }];
}

/** Why the host refused an action, for programs. */
export type RefusalReason =
  /** A rule of the policy denies it. */
  | "rule"
  /** The user said no, now or earlier. */
  | "user"
  /** It needs approval, and the user cannot be asked. */
  | "nobody-to-ask"
  /** The definition of the tool changed since it was accepted. */
  | "definition-changed"
  /** The tool is for the apps of its server, or for models alone. */
  | "not-for-caller";

/** The host or its user refused an action. */
export class DeniedError extends PortolanError {
  /** The message without the name of the action, which a server may have chosen: `was not approved by the user`. */
  readonly refusal: string;
  readonly reason: RefusalReason;

  constructor(what: string, refusal: string, reason: RefusalReason) {
    super("denied", `${what} ${refusal}`);
    this.refusal = refusal;
    this.reason = reason;
  }
}

/** Returns the error of a refused action: its name, what is said of it, and the reason for programs. */
export function denied(what: string, refusal: string, reason: RefusalReason): DeniedError {
  return new DeniedError(what, refusal, reason);
}

/** Waits for a promise until the signal aborts. The work itself continues. */
export function waitFor<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const abort = () => reject(toError(signal.reason));
    const stopWaiting = onAbort(signal, abort);
    // Always handled, so that a failure after the abort is not an unhandled rejection.
    work.then(resolve, reject).finally(stopWaiting);
    if (signal.aborted) abort();
  });
}
