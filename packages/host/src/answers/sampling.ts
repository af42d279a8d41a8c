import type {
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
import type { ActivityLog } from "../activity/index.ts";
import type { SamplingOptions } from "../api.ts";
import type { AskOptions, Questions } from "../consent.ts";
import { inspectHost } from "../display/index.ts";
import type { HostedServer } from "../hosted-server.ts";
import {
  maxSamplingAnswerTokens,
  maxSamplingRequests,
  maxSamplingRequestsPerMinute,
  maxSamplingTokens,
  minuteMs,
} from "../limits.ts";
import { chooseModel } from "../models/choose.ts";
import type { Model, TokenUsage } from "../models/model.ts";
import { lacksOf, needsOf } from "../models/needs.ts";
import { answerSampling } from "../models/sampling.ts";
import { estimateTokens } from "../models/tokens.ts";
import { checkBounds } from "../options.ts";
import type { Grants } from "../policy/index.ts";
import type { HostAnswers, ModelChoice, SamplingVerdict } from "../questions.ts";
import { type QuestionRate, type RootDefinition, secretFieldsOf, sortRoots } from "./forms.ts";

/** What servers' questions are answered with. */
export interface AnswerDependencies {
  readonly questions: Questions;
  readonly grants: Grants;
  readonly activity: ActivityLog;
  readonly models: readonly Model[];
  readonly sampling: SamplingOptions;
  /** None said: servers are not told that there are none, which would leave them nothing to work on. */
  readonly roots: () => readonly RootDefinition[] | undefined;
  readonly budgetOf: (server: string) => Budget;
  readonly rateOf: (server: string) => QuestionRate;
  readonly warn: (server: string, message: string) => void;
}

/** The run and the answers that belong to some call. */
export interface CallOrigin {
  readonly run?: string;
  readonly answers?: HostAnswers;
}

/** How one server's questions are answered, the same on every revision; what nobody answers is not offered. */
export function answersFor(server: HostedServer, dependencies: AnswerDependencies, origin: CallOrigin = {}): Answers {
  const { questions, models, sampling } = dependencies;
  const { answers } = origin;
  const review = sampling.servers?.[server.name]?.review ?? sampling.review ?? "both";
  const mayBeAsked = questions.canAsk("sample", answers) || review === "none";
  const ask = new ServerAnswers(server, dependencies, origin);
  return {
    ...(questions.canAsk("elicit", answers) && { elicit: (params, context) => ask.elicit(params, context) }),
    ...(questions.canAsk("openUrl", answers) && { openUrl: (params, context) => ask.openUrl(params, context) }),
    ...(mayBeAsked && models.length > 0 && { sample: (params, context) => ask.sample(params, context, review) }),
    ...(dependencies.roots() && { roots: (context) => ask.roots(context) }),
  };
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

  async elicit(params: ElicitFormParams, { signal }: QuestionContext): Promise<ElicitResult> {
    this.#count("form");
    const secretFields = secretFieldsOf(params);
    this.#log("question", {
      of: "form",
      message: params.message,
      fields: Object.keys(params.requestedSchema.properties),
    });
    const request = { kind: "elicit", params, secretFields, ...this.#questionBase } as const;
    const { sendSecrets = false, ...answer } = await this.#dependencies.questions.ask<"elicit">(
      request,
      this.#options(signal),
    );
    const given = secretFields.filter((name) => answer.content?.[name] !== undefined);
    if (answer.action === "accept" && given.length > 0 && !sendSecrets) {
      this.#log("answer", { of: "form", action: "decline", why: `secret fields: ${given.join(", ")}` });
      return { action: "decline" };
    }
    // What was entered is between the user and the server.
    this.#log("answer", { of: "form", action: answer.action });
    return answer;
  }

  async openUrl(params: ElicitUrlParams, { signal }: QuestionContext): Promise<ElicitResult> {
    this.#count("address");
    const address = inspectHost(params.url);
    const isSafe = address.scheme === "https" || (address.scheme === "http" && address.isLoopback);
    this.#log("question", { of: "address", host: address.host, warnings: address.warnings });
    if (!isSafe || address.hasCredentials) {
      this.#log("answer", { of: "address", action: "decline", why: "it is no safe address" });
      return { action: "decline" };
    }
    const request = { kind: "openUrl", params, address, ...this.#questionBase } as const;
    const { action } = await this.#dependencies.questions.ask<"openUrl">(request, this.#options(signal));
    this.#log("answer", { of: "address", action });
    return { action };
  }

  async sample(
    params: Parameters<typeof sample>[1],
    context: QuestionContext,
    review: "both" | "request" | "none",
  ): ReturnType<typeof sample> {
    const { questions, models, budgetOf, grants } = this.#dependencies;
    const { name, digest } = this.#server;
    const bound = { kind: "sampling", server: name, serverDigest: digest, digest: "sampling" } as const;
    if (grants.find({ ...bound, subject: "" })?.allow === false)
      throw new RpcError(-1, "Sampling was refused: the user does not want it from this server");
    // A yes is for the model that was shown: by its preferences, a server could otherwise choose another.
    const isAllowed = ({ id }: Model) => grants.find({ ...bound, subject: id })?.allow === true;
    return sample(
      {
        server: name,
        models,
        questions,
        budget: budgetOf(name),
        reviews: (model) => ({
          request: review !== "none" && !isAllowed(model),
          response: review === "both" && !isAllowed(model),
        }),
        log: (step, data) => this.#log("sampling", { step, ...data }),
        onVerdict: async ({ allow, for: scope = "once" }, { id }) => {
          if (scope !== "once") await grants.add({ ...bound, subject: allow ? id : "", allow, scope });
        },
      },
      params,
      context,
      this.#origin,
    );
  }

  /** The roots that the server may know of: those meant for it, and those that the user agrees to. */
  async roots({ signal }: QuestionContext): Promise<readonly Root[]> {
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
      if (!known) open.push(root);
      else if (known.allow) agreed.push(root);
    }
    if (open.length > 0 && questions.canAsk("roots", this.#origin.answers)) {
      const verdict = await questions.ask<"roots">(
        { kind: "roots", roots: open, ...this.#questionBase },
        this.#options(signal),
      );
      const chosen = new Set((verdict.roots ?? open).map(({ uri }) => uri));
      const { for: scope = "session" } = verdict;
      for (const root of open) {
        const allow = verdict.allow && chosen.has(root.uri);
        if (allow) agreed.push(root);
        if (scope !== "once") {
          await grants.add({ ...bound, subject: root.uri, digest: await sha256(root.uri), allow, scope });
        }
      }
    }
    return this.#exposed([...given, ...agreed]);
  }

  /** Neither the user nor the log may be worn out by a server that asks without end; sampling has a budget of its own. */
  #count(of: "form" | "address" | "roots"): void {
    const { name } = this.#server;
    const rate = this.#dependencies.rateOf(name);
    const taken = rate.take();
    if (taken === "asked") return;
    const why = `more than ${rate.perMinute} questions in a minute`;
    if (taken === "first too many") {
      this.#log("question", { of, refused: why });
      this.#dependencies.warn(name, `It has asked ${why}; the others of this minute are refused`);
    }
    throw new RpcError(-1, `Nobody was asked: a server may not ask ${why}`);
  }

  #exposed(roots: readonly Root[]): readonly Root[] {
    this.#log("roots", { roots });
    return roots;
  }

  get #questionBase(): { server: string; run?: string } {
    const { run } = this.#origin;
    return { server: this.#server.name, ...(run !== undefined && { run }) };
  }

  #options(signal: AbortSignal): AskOptions {
    return { own: this.#origin.answers, signal };
  }

  #log(kind: "question" | "answer" | "sampling" | "roots", data: object): void {
    this.#dependencies.activity.record({ kind, server: this.#server.name, ...data }, { urgent: true });
  }
}

/** What a server's wish to use a model is answered with. */
export interface SamplingContext {
  readonly server: string;
  readonly models: readonly Model[];
  readonly budget: Budget;
  readonly questions: Questions;
  /** What the user looks at when this model is asked. */
  readonly reviews: (model: Model) => { readonly request: boolean; readonly response: boolean };
  /** Hears of each step. */
  readonly log: (step: string, data: object) => void;
  /** Hears what the user has decided, about which model and for how long. */
  readonly onVerdict: (verdict: SamplingVerdict, model: Model) => Promise<void>;
}

/** Has a model answer a server, if its user agrees to what is asked and to what is answered. */
export async function sample(
  sampling: SamplingContext,
  wanted: CreateMessageParams,
  { signal }: QuestionContext,
  origin: CallOrigin = {},
): Promise<CreateMessageResult> {
  const { server, models, budget } = sampling;
  // A server sees nothing of the conversation, whatever it asks for.
  const { includeContext: _, ...own } = wanted;
  const inputTokens = estimateInput(own);
  const params: CreateMessageParams = { ...own, maxTokens: budget.grant(own.maxTokens, inputTokens) };
  const model = chooseModel(models, params.modelPreferences, needsOf(params));
  if (!model) throw overBudget("no model here can take what it holds", sampling, { server });
  const maxUse = inputTokens + params.maxTokens;
  const excess = budget.take(maxUse);
  if (excess !== undefined) throw overBudget(`this server may use no more than ${excess}`, sampling, { limit: excess });
  const account = { held: maxUse, used: inputTokens };
  try {
    return await review(sampling, { params, model, inputTokens, account }, signal, origin);
  } finally {
    budget.settle(account.held, account.used);
  }
}

/** A request that the budget allows. */
interface Allowed {
  readonly params: CreateMessageParams;
  readonly model: Model;
  readonly inputTokens: number;
  /** What is counted for it, and what it has used so far. */
  readonly account: { held: number; used: number };
}

async function review(
  { server, models, budget, questions, reviews: reviewsOf, log, onVerdict }: SamplingContext,
  allowed: Allowed,
  signal: AbortSignal,
  origin: CallOrigin,
): Promise<CreateMessageResult> {
  const { account } = allowed;
  let { params, model, inputTokens } = allowed;
  const reviews = reviewsOf(model);
  const options = { own: origin.answers, signal };
  const request = { kind: "sample" as const, server, ...(origin.run !== undefined && { run: origin.run }) };
  if (reviews.request) {
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
      options,
    );
    if (verdict.model !== undefined) model = models.find(({ id }) => id === verdict.model) ?? model;
    await onVerdict(verdict, model);
    if (!verdict.allow) throw refused(verdict.reason ?? "the user said no", log, { stage: "request" });
    if (verdict.params) {
      inputTokens = estimateInput(verdict.params);
      const maxTokens = budget.grant(verdict.params.maxTokens, inputTokens, account.held);
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
  });
  account.used = (usage.inputTokens ?? inputTokens) + (usage.outputTokens ?? estimateTokens(result));
  if (reviews.response) {
    const verdict = await questions.ask<"sample">({ ...request, stage: "response", params, result }, options);
    if (!verdict.allow) throw refused(verdict.reason ?? "the user keeps the answer", log, { stage: "response" });
    if (verdict.result) result = verdict.result;
  }
  log("answered", { model: result.model, result });
  return result;
}

/** What the server hears; the code is the one that the specification gives for a user's no. */
/** Refused without asking anybody: written down once in a while, since a server may go on without end. */
function overBudget(why: string, { budget, log }: SamplingContext, data: object): RpcError {
  return refused(why, budget.shouldLog(why) ? log : () => {}, data);
}

function refused(why: string, log: SamplingContext["log"], data: object): RpcError {
  log("refused", { ...data, why });
  return new RpcError(-1, `Sampling was refused: ${why}`);
}

function estimateInput({ systemPrompt = "", messages, tools = [] }: CreateMessageParams): number {
  return estimateTokens([systemPrompt, messages, tools]);
}

function canTake(model: Model, params: CreateMessageParams): boolean {
  return lacksOf(model, needsOf(params)).length === 0;
}

function choiceOf({ id, capabilities, notice }: Model): ModelChoice {
  return { id, capabilities, ...(notice !== undefined && { notice }) };
}

/** What one server may use of the models. */
export interface SamplingLimits {
  /** Of one answer; what a server asks for beyond is not given. 4,096 unless said. */
  readonly maxTokens?: number;
  /** Of all its requests and answers together; 100,000 unless said. */
  readonly tokens?: number;
  /** Of requests in all; 1,000 unless said. */
  readonly requests?: number;
  /** 10 unless said. */
  readonly requestsPerMinute?: number;
}

/** Counts what one server has used. */
export class Budget {
  readonly maxTokens: number;
  readonly #limits: Required<SamplingLimits>;
  readonly #clock: Clock;
  #tokens = 0;
  #requests = 0;
  /** When the requests of the last minute were made. */
  readonly #recent: number[] = [];
  /** When it was last said why there is no more; there are only so many reasons. */
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

  /** Whether a refusal is worth a word: the same within a minute is not. */
  shouldLog(why: string): boolean {
    const now = this.#clock.now();
    const shouldLog = now - (this.#loggedAt.get(why) ?? Number.NEGATIVE_INFINITY) >= minuteMs;
    if (shouldLog) this.#loggedAt.set(why, now);
    return shouldLog;
  }

  /** Counts a request that may use so many tokens; says what it is too much for, and then counts nothing. */
  take(maxUse: number): string | undefined {
    const { requestsPerMinute, requests, tokens } = this.#limits;
    const now = this.#clock.now();
    while (this.#recent[0] !== undefined && now - this.#recent[0] >= minuteMs) this.#recent.shift();
    if (this.#recent.length >= requestsPerMinute) return `${requestsPerMinute} requests in a minute`;
    if (this.#requests >= requests) return `${requests} requests`;
    if (this.#tokens + maxUse > tokens) return `${tokens} tokens`;
    this.#recent.push(now);
    this.#requests += 1;
    // At once, not when the answer is there: requests made side by side share what is left.
    this.#tokens += maxUse;
    return undefined;
  }

  /** What an answer may still have of a wish for so many, beside what its request takes; `held` was counted for it before. */
  grant(wanted: number, inputTokens = 0, held = 0): number {
    return Math.max(1, Math.min(wanted, this.maxTokens, this.left.tokens + held - inputTokens));
  }

  /** Corrects what was counted for a request by what it has used. */
  settle(maxUse: number, used: number): void {
    this.#tokens += used - maxUse;
  }
}

/** Gives each server a budget of its own, the first time it is asked for. */
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
    const budget = budgets.get(server) ?? new Budget({ ...limits, ...definedOnly(own) }, clock);
    budgets.set(server, budget);
    return budget;
  };
}

function checkLimits(of: string, { maxTokens, tokens, requests, requestsPerMinute }: SamplingLimits): void {
  checkBounds(of, { maxTokens, tokens, requests, requestsPerMinute });
}

function definedOnly(limits: SamplingLimits = {}): SamplingLimits {
  return Object.fromEntries(Object.entries(limits).filter(([, limit]) => limit !== undefined));
}
