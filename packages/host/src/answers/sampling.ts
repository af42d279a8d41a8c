import type {
  ContentBlock,
  CreateMessageParams,
  CreateMessageResult,
  ElicitFormParams,
  ElicitResult,
  ElicitUrlParams,
  Root,
} from "portolan";
import { RpcError } from "portolan";
import type { Answers, Clock, QuestionContext } from "portolan/client";
import { sha256 } from "portolan/storage";
import { type ActivityLog, recordNow } from "../activity/index.ts";
import type { SamplingOptions } from "../api.ts";
import { findSuspicious, inspectHost } from "../display/index.ts";
import type { HostedServer } from "../hosted-server.ts";
import {
  maxSamplingAnswerTokens,
  maxSamplingRequests,
  maxSamplingRequestsPerMinute,
  maxSamplingTokens,
  minuteMs,
} from "../limits.ts";
import { chooseModel, missingCapabilities, requirementsOf } from "../models/choose.ts";
import type { Model, TokenUsage } from "../models/model.ts";
import { answerSampling } from "../models/sampling.ts";
import { estimateTokens } from "../models/tokens.ts";
import type { AskOptions, Questions } from "../open-questions.ts";
import { checkBounds } from "../options.ts";
import type { Grants, NewGrant } from "../policy/index.ts";
import type {
  AnswerReceipt,
  FormAnswer,
  HostAnswers,
  ModelChoice,
  RootsVerdict,
  SamplingVerdict,
} from "../questions.ts";
import { type QuestionRate, type RootDefinition, secretFieldsOf, sortRoots } from "./forms.ts";

/** Parts of the host that answer servers' requests. */
export interface AnswerDependencies {
  readonly questions: Questions;
  readonly grants: Grants;
  readonly activity: ActivityLog;
  /** The models now: the application may replace them. */
  readonly models: () => readonly Model[];
  readonly sampling: SamplingOptions;
  /** Undefined if the application set no roots. An empty list would leave servers nothing to work on. */
  readonly roots: () => readonly RootDefinition[] | undefined;
  readonly budgetOf: (server: string) => Budget;
  readonly rateOf: (server: string) => QuestionRate;
  readonly warn: (server: string, message: string) => void;
}

/** The run and the answers of a call during which a server asks. */
export interface CallOrigin {
  readonly run?: string;
  readonly answers?: HostAnswers;
}

/**
 * Returns the handlers of one server's requests, for every revision. A request that the application cannot answer is
 * not offered.
 */
export function answersFor(server: HostedServer, dependencies: AnswerDependencies, origin: CallOrigin = {}): Answers {
  const { questions, models, sampling } = dependencies;
  const { answers } = origin;
  const review = sampling.servers?.[server.name]?.review ?? sampling.review ?? "both";
  const mayBeAsked = questions.canAsk("sample", answers) || review === "none";
  const ask = new ServerAnswers(server, dependencies, origin);
  return {
    ...(questions.canAsk("elicit", answers) && { elicit: (params, context) => ask.elicit(params, context) }),
    ...(questions.canAsk("openUrl", answers) && { openUrl: (params, context) => ask.openUrl(params, context) }),
    ...(mayBeAsked && models().length > 0 && { sample: (params, context) => ask.sample(params, context, review) }),
    ...(dependencies.roots() && { roots: (context) => ask.roots(context) }),
  };
}

/** Returns the function that asks about the messages of a server's apps; undefined if the application cannot be asked. */
export function sayFor(
  server: HostedServer,
  dependencies: AnswerDependencies,
  origin: CallOrigin = {},
): ServerAnswers["say"] | undefined {
  if (!dependencies.questions.canAsk("say", origin.answers)) return undefined;
  const ask = new ServerAnswers(server, dependencies, origin);
  return (app, content, signal) => ask.say(app, content, signal);
}

class ServerAnswers {
  readonly #server: HostedServer;
  readonly #dependencies: AnswerDependencies;
  readonly #origin: CallOrigin;

  constructor(server: HostedServer, dependencies: AnswerDependencies, origin: CallOrigin) {
    this.#server = server;
    this.#dependencies = dependencies;
    this.#origin = origin;
  }

  async elicit(params: ElicitFormParams, context: QuestionContext): Promise<ElicitResult> {
    this.#count("form");
    const secretFields = secretFieldsOf(params);
    this.#log("question", {
      of: "form",
      message: params.message,
      fields: Object.keys(params.requestedSchema.properties),
    });
    const request = { kind: "elicit", params, secretFields, ...this.#questionBase(context) } as const;
    const withheldFrom = ({ action, content, sendSecrets = false }: FormAnswer) =>
      action === "accept" && !sendSecrets ? secretFields.filter((name) => content?.[name] !== undefined) : [];
    const given = await this.#dependencies.questions.ask<"elicit">(request, {
      ...this.#options(context),
      record: (answer, by) => {
        const secrets = withheldFrom(answer);
        const why = secrets.length > 0 && { why: `secret fields: ${secrets.join(", ")}` };
        // The content of a form is private between the user and the server.
        return this.#logAnswer({ of: "form", action: why ? "decline" : answer.action, ...why }, by);
      },
    });
    if (withheldFrom(given).length > 0) return { action: "decline" };
    const { sendSecrets: _, ...answer } = given;
    return answer;
  }

  async openUrl(params: ElicitUrlParams, context: QuestionContext): Promise<ElicitResult> {
    this.#count("address");
    const address = inspectHost(params.url);
    const isSafe = address.scheme === "https" || (address.scheme === "http" && address.isLoopback);
    this.#log("question", { of: "address", host: address.host, warnings: address.warnings });
    if (!isSafe || address.hasCredentials) {
      this.#log("answer", { of: "address", action: "decline", why: "the address is not safe" });
      return { action: "decline" };
    }
    const request = { kind: "openUrl", params, address, ...this.#questionBase(context) } as const;
    const { action } = await this.#dependencies.questions.ask<"openUrl">(request, {
      ...this.#options(context),
      record: ({ action }, by) => this.#logAnswer({ of: "address", action }, by),
    });
    return { action };
  }

  /** Asks whether a message of an app may be sent as if the user had written it. */
  async say(app: string, content: readonly ContentBlock[], signal: AbortSignal): Promise<boolean> {
    const { questions } = this.#dependencies;
    this.#count("message");
    this.#log("question", { of: "message", app, content });
    const findings = findSuspicious(JSON.stringify(content));
    const request = { kind: "say", app, content, findings, ...this.#questionBase({}) } as const;
    const { allow } = await questions.ask<"say">(request, {
      ...this.#options({ signal }),
      record: ({ allow, reason }, by) =>
        this.#logAnswer({ of: "message", app, allow, ...(reason !== undefined && { reason }) }, by),
    });
    return allow;
  }

  async sample(
    params: Parameters<typeof sample>[1],
    context: QuestionContext,
    review: "both" | "request" | "none",
  ): ReturnType<typeof sample> {
    const { questions, models, budgetOf, grants } = this.#dependencies;
    const { name, digest } = this.#server;
    const bound = { kind: "sampling", server: name, serverDigest: digest, digest: "sampling" } as const;
    const denial = grants.find({ ...bound, subject: "" });
    if (denial?.allow === false) {
      grants.use(denial.id);
      throw new RpcError(-1, "Sampling was refused: the user does not want it from this server");
    }
    return sample(
      {
        server: name,
        models: models(),
        questions,
        budget: budgetOf(name),
        reviews: (model) => {
          // A grant is bound to the model that was shown; otherwise a server could choose another by its preferences.
          const known = review === "none" ? undefined : grants.find({ ...bound, subject: model.id });
          if (known?.allow) grants.use(known.id);
          const isAsked = review !== "none" && !known?.allow;
          return { request: isAsked, response: isAsked && review === "both" };
        },
        log: (step, data) => this.#log("sampling", { step, ...data }),
        remember: async ({ allow, for: scope = "once" }, { id }) => {
          if (scope === "once") return {};
          const subject = allow ? id : "";
          return { grant: await this.#addGrant({ ...bound, subject, allow, scope }) };
        },
      },
      params,
      context,
      this.#origin,
    );
  }

  /** Returns the roots that the server may see: those assigned to it, and those that the user agrees to. */
  async roots(context: QuestionContext): Promise<readonly Root[]> {
    this.#count("roots");
    const { questions, grants, roots } = this.#dependencies;
    const { name, digest: serverDigest } = this.#server;
    const { given, needConsent } = sortRoots(roots() ?? [], name);
    if (needConsent.length === 0) return this.#exposed(given);
    const bound = { kind: "roots", server: name, serverDigest, subject: "" } as const;
    const agreed: Root[] = [];
    const open: Root[] = [];
    for (const root of needConsent) {
      const known = grants.find({ ...bound, subject: root.uri, digest: await sha256(root.uri) });
      if (known) grants.use(known.id);
      if (!known) open.push(root);
      else if (known.allow) agreed.push(root);
    }
    if (open.length > 0 && questions.canAsk("roots", this.#origin.answers)) {
      const chosenFrom = ({ allow, roots: chosen = open }: RootsVerdict) => {
        const uris = new Set(allow ? chosen.map(({ uri }) => uri) : []);
        return open.filter(({ uri }) => uris.has(uri));
      };
      const verdict = await questions.ask<"roots">(
        { kind: "roots", roots: open, ...this.#questionBase(context) },
        {
          ...this.#options(context),
          record: async (answer, by) => {
            const { for: scope = "session" } = answer;
            const chosen = chosenFrom(answer);
            await this.#logAnswer({ of: "roots", allow: answer.allow, scope, roots: chosen }, by);
            if (scope === "once") return {};
            for (const root of open) {
              const digest = await sha256(root.uri);
              await this.#addGrant({ ...bound, subject: root.uri, digest, allow: chosen.includes(root), scope });
            }
            return {};
          },
        },
      );
      agreed.push(...chosenFrom(verdict));
    }
    return this.#exposed([...given, ...agreed]);
  }

  /** Limits the requests of one server, for the user's sake and the log's. Sampling has its own budget. */
  #count(of: "form" | "address" | "roots" | "message"): void {
    const { name } = this.#server;
    const rate = this.#dependencies.rateOf(name);
    const taken = rate.take();
    if (taken === "allowed") return;
    const why = `more than ${rate.perMinute} questions per minute`;
    if (taken === "first-refused") {
      this.#log("question", { of, refused: why });
      this.#dependencies.warn(name, `Asked ${why}; further requests of this minute are refused`);
    }
    throw new RpcError(-1, `The user was not asked: a server may not send ${why}`);
  }

  #exposed(roots: readonly Root[]): readonly Root[] {
    this.#log("roots", { roots });
    return roots;
  }

  #questionBase({ during }: Partial<QuestionContext>): { server: string; run?: string; call?: string } {
    const { run } = this.#origin;
    const call = during?.label;
    return { server: this.#server.name, ...(run !== undefined && { run }), ...(call !== undefined && { call }) };
  }

  #options({ signal }: Pick<QuestionContext, "signal">): Pick<AskOptions<never>, "own" | "signal"> {
    return { own: this.#origin.answers, signal };
  }

  /** Adds a grant after it is in the log, and returns its id. */
  async #addGrant(given: NewGrant): Promise<string> {
    const { grants, activity } = this.#dependencies;
    const { kind: of, server, subject: name, allow, scope } = given;
    const { id } = await grants.add(given, async ({ id: grant }) => {
      await recordNow(activity, { kind: "grant", server, name, grant, of, allow, scope });
    });
    return id;
  }

  #logAnswer(data: object, answeredBy: string | undefined): AnswerReceipt {
    this.#log("answer", { ...data, ...(answeredBy !== undefined && { answeredBy }) });
    return {};
  }

  #log(kind: "question" | "answer" | "sampling" | "roots", data: object): void {
    this.#dependencies.activity.record({ kind, server: this.#server.name, ...data }, { urgent: true });
  }
}

/** Everything that one sampling request needs. */
export interface SamplingContext {
  readonly server: string;
  readonly models: readonly Model[];
  readonly budget: Budget;
  readonly questions: Questions;
  /** The parts that the user reviews for this model. */
  readonly reviews: (model: Model) => { readonly request: boolean; readonly response: boolean };
  /** Records a step in the log. */
  readonly log: (step: string, data: object) => void;
  /** Stores the user's verdict on requests to a model, where it holds longer than once. */
  readonly remember: (verdict: SamplingVerdict, model: Model) => Promise<AnswerReceipt>;
}

/** Lets a model answer a server's request, if the user agrees to the request and to the answer. */
export async function sample(
  sampling: SamplingContext,
  wanted: CreateMessageParams,
  context: QuestionContext,
  origin: CallOrigin = {},
): Promise<CreateMessageResult> {
  const { server, models, budget } = sampling;
  // A server never sees the conversation, whatever it asks for.
  const { includeContext: _, ...own } = wanted;
  const inputTokens = estimateInput(own);
  const params: CreateMessageParams = { ...own, maxTokens: budget.allowance(own.maxTokens, inputTokens) };
  const model = chooseModel(models, params.modelPreferences, requirementsOf(params));
  if (!model) {
    const why = models.length === 0 ? "the host has no model now" : "no model supports its content";
    throw refuseSampling(why, sampling, { server });
  }
  const maxUse = inputTokens + params.maxTokens;
  const excess = budget.take(maxUse);
  if (excess !== undefined)
    throw refuseSampling(`this server may use no more than ${excess}`, sampling, { limit: excess });
  const account = { held: maxUse, used: inputTokens };
  try {
    return await review(sampling, { params, model, inputTokens, account }, context, origin);
  } finally {
    budget.settle(account.held, account.used);
  }
}

/** A request within the budget. */
interface Allowed {
  readonly params: CreateMessageParams;
  readonly model: Model;
  readonly inputTokens: number;
  /** Tokens reserved for the request, and tokens used so far. */
  readonly account: { held: number; used: number };
}

async function review(
  { server, models, budget, questions, reviews: reviewsOf, log, remember }: SamplingContext,
  allowed: Allowed,
  { signal, during }: QuestionContext,
  origin: CallOrigin,
): Promise<CreateMessageResult> {
  const { account } = allowed;
  let { params, model, inputTokens } = allowed;
  const reviews = reviewsOf(model);
  const options = { own: origin.answers, signal };
  const belongsTo = {
    ...(origin.run !== undefined && { run: origin.run }),
    ...(during?.label && { call: during.label }),
  };
  const request = { kind: "sample" as const, server, ...belongsTo };
  const logVerdict = (
    stage: "request" | "response",
    { allow, for: scope = "once", reason }: SamplingVerdict,
    by?: string,
  ) => {
    const why = allow ? {} : { why: reason ?? reasons[stage] };
    log(allow ? "allowed" : "refused", { stage, scope, ...why, ...(by !== undefined && { answeredBy: by }) });
  };
  if (reviews.request) {
    const chosenBy = ({ model: wanted }: SamplingVerdict) => models.find(({ id }) => id === wanted) ?? allowed.model;
    const verdict = await questions.ask<"sample">(
      {
        ...request,
        stage: "request",
        params,
        model: choiceOf(model),
        alternatives: models.filter((other) => other !== model && canTake(other, params)).map(choiceOf),
        inputTokens,
        left: budget.left,
      },
      {
        ...options,
        record: (answer, by) => {
          logVerdict("request", answer, by);
          return remember(answer, chosenBy(answer));
        },
      },
    );
    model = chosenBy(verdict);
    if (!verdict.allow) throw samplingRefused(verdict.reason ?? reasons.request);
    if (verdict.params) {
      inputTokens = estimateInput(verdict.params);
      const maxTokens = budget.allowance(verdict.params.maxTokens, inputTokens, account.held);
      params = { ...verdict.params, maxTokens };
      budget.settle(account.held, inputTokens + maxTokens);
      account.held = inputTokens + maxTokens;
      account.used = inputTokens;
    }
  }
  log("asked", { model: model.id, params });

  let usage: TokenUsage = {};
  let result = await answerSampling(model, params, {
    signal,
    onUsage: (used) => {
      usage = used;
    },
  }).catch((reason: unknown) => {
    if (!signal.aborted)
      log("failed", { model: model.id, why: reason instanceof Error ? reason.message : String(reason) });
    throw reason;
  });
  account.used = (usage.inputTokens ?? inputTokens) + (usage.outputTokens ?? estimateTokens(result));
  if (reviews.response) {
    const verdict = await questions.ask<"sample">(
      { ...request, stage: "response", params, result },
      {
        ...options,
        record: (answer, by) => {
          logVerdict("response", answer, by);
          return {};
        },
      },
    );
    if (!verdict.allow) throw samplingRefused(verdict.reason ?? reasons.response);
    if (verdict.result) result = verdict.result;
  }
  log("answered", { model: result.model, result });
  return result;
}

/** Reasons of a "no" without one of its own. */
const reasons = { request: "the user said no", response: "the user withheld the answer" };

/** Refuses without asking the user. Logged at most once a minute, because a server may repeat it without end. */
function refuseSampling(why: string, { budget, log }: SamplingContext, data: object): RpcError {
  return refused(why, budget.shouldLog(why) ? log : () => {}, data);
}

function refused(why: string, log: SamplingContext["log"], data: object): RpcError {
  log("refused", { ...data, why });
  return samplingRefused(why);
}

function samplingRefused(why: string): RpcError {
  return new RpcError(-1, `Sampling was refused: ${why}`);
}

function estimateInput({ systemPrompt = "", messages, tools = [] }: CreateMessageParams): number {
  return estimateTokens([systemPrompt, messages, tools]);
}

function canTake(model: Model, params: CreateMessageParams): boolean {
  return missingCapabilities(model, requirementsOf(params)).length === 0;
}

function choiceOf({ id, capabilities, notice }: Model): ModelChoice {
  return { id, capabilities, ...(notice !== undefined && { notice }) };
}

/** Limits for one server's use of the models. */
export interface SamplingLimits {
  /** Tokens of one answer; a larger request is reduced. Default: 4,096. */
  readonly maxTokens?: number;
  /** Tokens of all requests and answers together. Default: 100,000. */
  readonly tokens?: number;
  /** Requests in all. Default: 1,000. */
  readonly requests?: number;
  /** Default: 10. */
  readonly requestsPerMinute?: number;
}

/** Counts the tokens and requests of one server. */
export class Budget {
  readonly maxTokens: number;
  readonly #limits: Required<SamplingLimits>;
  readonly #clock: Clock;
  #tokens = 0;
  #requests = 0;
  /** Times of the requests of the last minute. */
  readonly #recent: number[] = [];
  /** When each reason was last logged; there are only a few reasons. */
  readonly #loggedAt = new Map<string, number>();

  constructor(limits: SamplingLimits, clock: Clock) {
    const {
      maxTokens = maxSamplingAnswerTokens,
      tokens = maxSamplingTokens,
      requests = maxSamplingRequests,
      requestsPerMinute = maxSamplingRequestsPerMinute,
    } = limits;
    this.#limits = { maxTokens, tokens, requests, requestsPerMinute };
    this.maxTokens = maxTokens;
    this.#clock = clock;
  }

  get left(): { tokens: number; requests: number } {
    const { tokens, requests } = this.#limits;
    return { tokens: Math.max(0, tokens - this.#tokens), requests: Math.max(0, requests - this.#requests) };
  }

  /** Returns false for a reason that was logged within the last minute. */
  shouldLog(why: string): boolean {
    const now = this.#clock.now();
    const shouldLog = now - (this.#loggedAt.get(why) ?? Number.NEGATIVE_INFINITY) >= minuteMs;
    if (shouldLog) this.#loggedAt.set(why, now);
    return shouldLog;
  }

  /** Reserves tokens for a request. Returns the limit that it would exceed, and then reserves nothing. */
  take(maxUse: number): string | undefined {
    const { requestsPerMinute, requests, tokens } = this.#limits;
    const now = this.#clock.now();
    while (this.#recent[0] !== undefined && now - this.#recent[0] >= minuteMs) this.#recent.shift();
    if (this.#recent.length >= requestsPerMinute) return `${requestsPerMinute} requests per minute`;
    if (this.#requests >= requests) return `${requests} requests`;
    if (this.#tokens + maxUse > tokens) return `${tokens} tokens`;
    this.#recent.push(now);
    this.#requests += 1;
    // Reserved at once, because parallel requests share the rest.
    this.#tokens += maxUse;
    return undefined;
  }

  /** Returns the tokens that an answer may use. `held` was reserved for this request before. */
  allowance(wanted: number, inputTokens = 0, held = 0): number {
    return Math.max(1, Math.min(wanted, this.maxTokens, this.left.tokens + held - inputTokens));
  }

  /** Replaces the reserved tokens of a request by those it used. */
  settle(maxUse: number, used: number): void {
    this.#tokens += used - maxUse;
  }
}

/** Returns a function that gives each server its own budget. */
export function createBudgets(
  options: SamplingLimits & { readonly servers?: { readonly [server: string]: SamplingLimits } },
  clock: Clock,
): (server: string) => Budget {
  const { servers = {}, ...limits } = options;
  checkLimits("sampling.", limits);
  for (const [server, own] of Object.entries(servers)) checkLimits(`sampling.servers.${server}.`, own);
  const budgets = new Map<string, Budget>();
  return (server) => {
    const own = Object.hasOwn(servers, server) ? servers[server] : {};
    const budget = budgets.get(server) ?? new Budget({ ...limits, ...withoutUndefined(own) }, clock);
    budgets.set(server, budget);
    return budget;
  };
}

function checkLimits(of: string, { maxTokens, tokens, requests, requestsPerMinute }: SamplingLimits): void {
  checkBounds(of, { maxTokens, tokens, requests, requestsPerMinute });
}

function withoutUndefined(limits: SamplingLimits = {}): SamplingLimits {
  return Object.fromEntries(Object.entries(limits).filter(([, limit]) => limit !== undefined));
}
