import type { ElicitResult, JsonObject } from "portolan";
import { PortolanError } from "portolan";
import { checkFormAnswer } from "portolan/client";
import { isObject, nameOf, onAbort, optional, samplingParams, samplingResult, toError } from "portolan/internal";
import { canonicalJson, sha256 } from "portolan/storage";
import type { ActivityLog } from "./activity/index.ts";
import { charsOf, type HostCallOptions } from "./api.ts";
import type { CatalogTool } from "./catalog/catalog.ts";
import { findSuspicious } from "./display/index.ts";
import type { HostedServer } from "./hosted-server.ts";
import {
  maxOpenQuestionChars,
  maxOpenQuestionCharsPerServer,
  maxOpenQuestions,
  maxOpenQuestionsPerServer,
} from "./limits.ts";
import { argumentsDigest, type Caution, type Grants, hintsOf, type Policy, type PolicyCall } from "./policy/index.ts";
import type {
  Action,
  AnswerOf,
  ApprovalVerdict,
  HostAnswers,
  HostQuestion,
  QuestionKind,
  SamplingQuestion,
  SkillAction,
} from "./questions.ts";

const none: readonly string[] = [];

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
}

/** Decides whether an action is allowed: by a rule, by a grant, or by asking the user. */
export class Consent {
  readonly #policy: Policy;
  readonly #grants: Grants;
  readonly #questions: Questions;
  readonly #activity: ActivityLog;
  /** Tools that a rule allows with any arguments, and whether their server's hints were trusted at that time. */
  readonly #allowed = new WeakMap<CatalogTool, boolean>();

  constructor(policy: Policy, grants: Grants, questions: Questions, activity: ActivityLog) {
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
    const { conversation, by = "model" } = options;
    if (!conversation && this.#allowed.get(tool) === server.trustsHints) return undefined;
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
    if (effect === "allow") {
      if (!conversation && this.#policy.allowsAlways(call)) this.#allowed.set(tool, server.trustsHints);
      return undefined;
    }
    if (effect === "deny") {
      this.#record(id, server, name, { effect, reason, ...(rule !== undefined && { rule }) });
      throw denied(call.name, `is not allowed: ${reason}`);
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
        rule,
        cautions,
        contentFrom: cautions.flatMap(({ from }) => from),
        definitionText: JSON.stringify(definition),
        ...(tool.resembles !== undefined && { resembles: tool.resembles }),
      },
      args,
      options,
    );
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
      ...(cautions.length > 0 && { isOnce: true }),
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
      throw denied(`${server.name}.${uri}`, `is not allowed: ${reason}`);
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
      ...((digest === undefined || cautions.length > 0) && { isOnce: true }),
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
    const { isOnce = false } = request;
    const what = `${server.name}.${subject}`;
    const bound = { kind, server: server.name, serverDigest: server.digest, subject, digest } as const;
    const query = { ...bound, contentFrom: contentFrom };
    const argsDigest = args && this.#grants.needsArguments(query) ? await argumentsDigest(args) : undefined;
    const known = isOnce
      ? undefined
      : this.#grants.find(argsDigest === undefined ? query : { ...query, args: argsDigest });
    if (known) {
      this.#record(id, server, subject, { effect: known.allow ? "allow" : "deny", grant: known.id });
      if (known.allow) return;
      const until = known.scope === "always" && known.expiresAt !== undefined;
      const time = until ? `until ${new Date(known.expiresAt ?? 0).toISOString().slice(0, 10)}` : "for this session";
      throw denied(what, `is not allowed: the user denied it ${time}`);
    }
    if (!this.#questions.canAsk("approve", options.answers)) {
      this.#record(id, server, subject, { effect: "deny", reason: "no way to ask the user" });
      throw denied(
        what,
        "needs the user's approval, but this host cannot ask: give the host `answers.approve`, or a rule that allows the call",
      );
    }
    const asked = this.#questions.ask<"approve">(
      {
        kind: "approve",
        server: server.name,
        action,
        reason,
        ...(rule !== undefined && { rule }),
        cautions,
        findings: findSuspicious(request.definitionText),
        ...(resembles !== undefined && { resembles }),
        ...(isOnce && { isOnce }),
        ...(options.run !== undefined && { run: options.run }),
        ...(options.callId !== undefined && { callId: options.callId }),
        ...(options.by === "app" && { by: "app" }),
      },
      { own: options.answers, signal: options.signal },
    );
    const verdict = await asked.catch((thrown) => {
      this.#record(id, server, subject, { effect: "unanswered", reason: toError(thrown).message });
      throw thrown;
    });
    if (!isOnce) await this.#remember(verdict, bound, contentFrom, args);
    const { allow, reason: why } = verdict;
    const scope = isOnce ? "once" : (verdict.for ?? "once");
    this.#record(id, server, subject, { effect: allow ? "allow" : "deny", by: "user", scope, cautions });
    if (!allow) throw denied(what, `was not approved by the user${why === undefined ? "" : `: ${why}`}`);
  }

  async #remember(
    { allow, for: scope = "once", onlyTheseArguments }: ApprovalVerdict,
    bound: {
      kind: "tool" | "resource" | "app" | "skill";
      server: string;
      serverDigest: string;
      subject: string;
      digest: string;
    },
    contentFrom: readonly string[],
    args: JsonObject | undefined,
  ): Promise<void> {
    if (scope === "once") return;
    const { id } = await this.#grants.add({
      ...bound,
      allow,
      scope,
      contentFrom,
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

  #record(id: string, server: HostedServer, name: string, data: object): void {
    this.#activity.record({ kind: "decision", server: server.name, name, id, ...data }, { urgent: true });
  }
}

/** Returns a caution if the conversation acts on skills of other servers, which may have led to a read from this one. */
function foreignSkills({ name }: HostedServer, { conversation }: HostCallOptions): readonly Caution[] {
  const from = [...(conversation?.skillsFrom ?? [])].filter((server) => server !== name);
  return from.length === 0 ? [] : [{ kind: "untrusted-content", from }];
}

/** The host or its user refused an action. */
export class DeniedError extends PortolanError {
  /** The message without the name of the action, which a server may have chosen: `was not approved by the user`. */
  readonly refusal: string;

  constructor(what: string, refusal: string) {
    super("denied", `${what} ${refusal}`);
    this.refusal = refusal;
  }
}

/** Returns the error of a refused action: its name, and what is said of it. */
export function denied(what: string, refusal: string): DeniedError {
  return new DeniedError(what, refusal);
}

/** Questions that servers ask on their own; the others follow from a call. */
const serverKinds: readonly QuestionKind[] = ["elicit", "openUrl", "sample", "roots", "say"];

/** A question before it has an id. */
export type QuestionDraft<K extends QuestionKind> = Draft<Extract<HostQuestion, { kind: K }>>;
type Draft<Q> = Q extends HostQuestion ? Omit<Q, "id" | "signal"> : never;

/** Options of `Questions.ask`. */
export interface AskOptions {
  /** Answers that come before those of the host. */
  readonly own?: HostAnswers | undefined;
  /** Withdraws the question. */
  readonly signal?: AbortSignal | undefined;
}

interface OpenQuestion {
  readonly question: HostQuestion;
  readonly withdrawal: AbortController;
  /** Characters that count towards the limits of open questions; undefined if the question does not count. */
  readonly chars: number | undefined;
  /** Delivers the answer; only for questions that wait for `answer`. */
  settle?: (answer: unknown) => void;
}

/** Asks the application, and holds the questions that it answers later. */
export class Questions {
  readonly #answers: HostAnswers;
  readonly #onAsked: (question: HostQuestion) => void;
  readonly #onSettled: (question: HostQuestion) => void;
  readonly #open = new Map<string, OpenQuestion>();
  #isClosed = false;

  /** `onAsked` is called for each question, `onSettled` when it no longer needs an answer. */
  constructor(
    answers: HostAnswers,
    { onAsked, onSettled }: { onAsked: (question: HostQuestion) => void; onSettled: (question: HostQuestion) => void },
  ) {
    this.#answers = answers;
    this.#onAsked = onAsked;
    this.#onSettled = onSettled;
  }

  /** True if the application answers questions of this kind. */
  canAsk(kind: QuestionKind, own?: HostAnswers): boolean {
    return (own?.[kind] ?? this.#answers[kind]) !== undefined;
  }

  /** True if a function of the application asks the user now, so that a question of this kind does not wait for `answer`. */
  asksNow(kind: QuestionKind): boolean {
    return typeof this.#answers[kind] === "function";
  }

  /** Questions that wait for `answer`. */
  get waiting(): readonly HostQuestion[] {
    return [...this.#open.values()].filter(isWaiting).map(({ question }) => question);
  }

  /** Returns the application's answer. Rejects if the question is withdrawn or cannot be asked. */
  async ask<K extends QuestionKind>(draft: QuestionDraft<K>, { own, signal }: AskOptions = {}): Promise<AnswerOf[K]> {
    const kind = draft.kind as K;
    if (own) checkAnswerers(own);
    const answerer = own?.[kind] ?? this.#answers[kind];
    if (answerer === undefined) throw unanswered(kind, `the host has no \`answers.${kind}\``);
    if (this.#isClosed) throw hostClosed();
    if (signal?.aborted) throw toError(signal.reason);
    const isCounted = answerer === "later" || serverKinds.includes(kind);
    const chars = isCounted ? charsOf(draft) : undefined;
    if (chars !== undefined) this.#checkLimits(kind, draft.server, chars);
    const withdrawal = new AbortController();
    // Unguessable, because an application may accept answers from the network.
    const question = { ...draft, id: crypto.randomUUID(), signal: withdrawal.signal } as HostQuestion;
    const stopWaiting = signal && onAbort(signal, () => withdrawal.abort(signal.reason));
    const open: OpenQuestion = { question, withdrawal, chars };
    this.#open.set(question.id, open);
    try {
      const answer = answerer === "later" ? this.#wait(open) : this.#call(answerer as Answer, question);
      return parseAnswer<K>(question, await waitForAnswer(answer, withdrawal.signal));
    } finally {
      stopWaiting?.();
      this.#open.delete(question.id);
      this.#onSettled(question);
    }
  }

  /** Withdraws all questions about a server. */
  withdraw(server: string): void {
    const reason = new PortolanError("cancelled", `${server} was removed`);
    for (const { question, withdrawal } of this.#open.values())
      if (question.server === server) withdrawal.abort(reason);
  }

  /** Withdraws all questions and accepts no more. */
  close(): void {
    this.#isClosed = true;
    for (const { withdrawal } of this.#open.values()) withdrawal.abort(hostClosed());
  }

  /** Answers a waiting question. Rejects if there is none with this id, or if the answer is invalid. */
  async answer(id: string, answer: unknown): Promise<void> {
    const { question } = this.#waiting(id);
    await checkAnswer(question, answer);
    // Looked up again, because another answer may have come first.
    const { settle } = this.#waiting(id);
    this.#open.delete(id);
    settle(answer);
  }

  #waiting(id: string): Required<OpenQuestion> {
    const open = this.#open.get(id);
    if (isWaiting(open)) return open;
    throw new PortolanError(
      "invalid-argument",
      `answer: no question ${JSON.stringify(id)} is waiting: it was answered or withdrawn, or belongs to another host`,
    );
  }

  #checkLimits(kind: QuestionKind, server: string, chars: number): void {
    const all = { count: 0, chars };
    const own = { count: 0, chars };
    for (const { question, chars: size } of this.#open.values()) {
      if (size === undefined) continue;
      for (const sum of question.server === server ? [all, own] : [all]) {
        sum.count += 1;
        sum.chars += size;
      }
    }
    if (own.count >= maxOpenQuestionsPerServer)
      throw unanswered(kind, `${own.count} questions about ${server} are waiting already`);
    if (own.chars > maxOpenQuestionCharsPerServer)
      throw unanswered(
        kind,
        `the questions about ${server} have more than ${maxOpenQuestionCharsPerServer} characters`,
      );
    if (all.count >= maxOpenQuestions) throw unanswered(kind, `${all.count} questions are waiting already`);
    if (all.chars > maxOpenQuestionChars)
      throw unanswered(kind, `the waiting questions have more than ${maxOpenQuestionChars} characters`);
  }

  #wait(open: OpenQuestion): Promise<unknown> {
    return new Promise((settle) => {
      open.settle = settle;
      this.#onAsked(open.question);
    });
  }

  async #call(answerer: Answer, question: HostQuestion): Promise<unknown> {
    this.#onAsked(question);
    return answerer(question);
  }
}

type Answer = (question: HostQuestion) => unknown;

function isWaiting(open: OpenQuestion | undefined): open is Required<OpenQuestion> {
  return open?.settle !== undefined && !open.withdrawal.signal.aborted;
}

function unanswered(kind: QuestionKind, why: string): PortolanError {
  return new PortolanError("unanswered", `The user was not asked (${kind}): ${why}`);
}

function hostClosed(): PortolanError {
  return new PortolanError("cancelled", "The host is closed");
}

const kinds: readonly QuestionKind[] = ["trust", "approve", "elicit", "openUrl", "sample", "roots", "say"];

/** Throws if an answerer is neither a function nor "later", or its kind is unknown. */
export function checkAnswerers(answers: HostAnswers): void {
  for (const [kind, answerer] of Object.entries(answers)) {
    if (!(kinds as readonly string[]).includes(kind)) {
      const message = `answers.${kind}: unknown kind of question; expected one of ${kinds.join(", ")}`;
      throw new PortolanError("invalid-argument", message);
    }
    if (answerer === undefined || answerer === "later" || typeof answerer === "function") continue;
    const message = `answers.${kind}: expected a function or "later", got ${nameOf(answerer)}`;
    throw new PortolanError("invalid-argument", message);
  }
}

/** Rejects an answer that has the wrong type or does not match its form. */
export async function checkAnswer(question: HostQuestion, given: unknown): Promise<void> {
  const answer = parseAnswer(question, given);
  if (question.kind === "elicit") await checkFormAnswer(question.params, answer as ElicitResult);
}

/** Returns the complete answer; throws if it is invalid. */
export function parseAnswer<K extends QuestionKind>(question: HostQuestion, given: unknown): AnswerOf[K] {
  const { kind } = question;
  const isVerdict = kind !== "elicit" && kind !== "openUrl";
  if (isVerdict && typeof given === "boolean") return { allow: given } as AnswerOf[K];
  const member = isVerdict ? "allow" : "action";
  const isRight = isVerdict
    ? isObject(given) && typeof given["allow"] === "boolean"
    : isObject(given) && ["accept", "decline", "cancel"].includes(given["action"] as string);
  if (!isRight) {
    const expected = isVerdict ? "true, false or { allow }" : '{ action: "accept" | "decline" | "cancel" }';
    const got = isObject(given) ? `${member} ${nameOf(given[member])}` : nameOf(given);
    throw invalid(kind, `expected ${expected}, got ${got}`);
  }
  const answer = given as unknown as AnswerOf[K];
  if (kind === "sample") checkSampling(question, answer as AnswerOf["sample"]);
  return answer;
}

/** Checks edited parameters and results, because they go to a model or server unchanged. */
function checkSampling(question: SamplingQuestion, { params, result, model }: AnswerOf["sample"]): void {
  const problem = optional(samplingParams)(params, "params") ?? optional(samplingResult)(result, "result");
  if (problem !== undefined) throw invalid("sample", problem);
  if (question.stage !== "request" || model === undefined) return;
  const allowed = [question.model, ...question.alternatives].map(({ id }) => id);
  if (allowed.includes(model)) return;
  throw invalid("sample", `expected a model that can answer (${allowed.join(", ")}), got ${nameOf(model)}`);
}

function invalid(kind: QuestionKind, why: string): PortolanError {
  return new PortolanError("answer-invalid", `answers.${kind}: ${why}`);
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

/** Waits for the answer of a question, whose signal nothing else waits for. Hot path: one listener of its own. */
function waitForAnswer<T>(answer: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(toError(signal.reason));
    answer.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
  });
}
