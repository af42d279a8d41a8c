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
import type { Asking, AskOptions } from "../consent.ts";
import { inspectHost } from "../display/index.ts";
import type { HostedServer } from "../hosted-server.ts";
import { chooseModel } from "../models/choose.ts";
import type { Model, TokenUsage } from "../models/model.ts";
import { lacksOf, needsOf } from "../models/needs.ts";
import { answerSampling } from "../models/sampling.ts";
import { estimateTokens } from "../models/tokens.ts";
import { checkBounds } from "../options.ts";
import type { Grants } from "../policy/index.ts";
import type { HostAnswers, ModelChoice, SamplingVerdict } from "../questions.ts";
import { type QuestionRate, type RootDefinition, secretFieldsOf, sortRoots } from "./forms.ts";

/** What a server's wish to use a model is answered with. */
export interface Sampling {
  readonly server: string;
  readonly models: readonly Model[];
  readonly budget: Budget;
  readonly asking: Asking;
  /** What the user looks at when this model is asked. */
  readonly reviews: (model: Model) => { readonly request: boolean; readonly response: boolean };
  /** Hears of each step. */
  readonly note: (step: string, data: object) => void;
  /** Hears what the user has decided, about which model and for how long. */
  readonly decided: (verdict: SamplingVerdict, model: Model) => Promise<void>;
}

/** The run and the answers that belong to some call. */
export interface During {
  readonly run?: string;
  readonly answers?: HostAnswers;
}

/** Has a model answer a server, if its user agrees to what is asked and to what is answered. */
export async function sample(
  sampling: Sampling,
  wanted: CreateMessageParams,
  { signal }: QuestionContext,
  during: During = {},
): Promise<CreateMessageResult> {
  const { server, models, budget } = sampling;
  // A server sees nothing of the conversation, whatever it asks for.
  const { includeContext: _, ...own } = wanted;
  const inputTokens = sizeOf(own);
  const params: CreateMessageParams = { ...own, maxTokens: budget.grant(own.maxTokens, inputTokens) };
  const model = chooseModel(models, params.modelPreferences, needsOf(params));
  if (!model) throw spent("no model here can take what it holds", sampling, { server });
  const mayUse = inputTokens + params.maxTokens;
  const excess = budget.take(mayUse);
  if (excess !== undefined) throw spent(`this server may use no more than ${excess}`, sampling, { limit: excess });
  const account = { held: mayUse, spent: inputTokens };
  try {
    return await review(sampling, { params, model, inputTokens, account }, signal, during);
  } finally {
    budget.settle(account.held, account.spent);
  }
}

/** A request that the budget allows. */
interface Allowed {
  readonly params: CreateMessageParams;
  readonly model: Model;
  readonly inputTokens: number;
  /** What is counted for it, and what it has used so far. */
  readonly account: { held: number; spent: number };
}

async function review(
  { server, models, budget, asking, reviews: reviewsOf, note, decided }: Sampling,
  allowed: Allowed,
  signal: AbortSignal,
  during: During,
): Promise<CreateMessageResult> {
  const { account } = allowed;
  let { params, model, inputTokens } = allowed;
  const reviews = reviewsOf(model);
  const options = { own: during.answers, signal };
  const asked = { kind: "sample" as const, server, ...(during.run !== undefined && { run: during.run }) };
  if (reviews.request) {
    const verdict = await asking.ask<"sample">(
      {
        ...asked,
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
    await decided(verdict, model);
    if (!verdict.allow) throw refused(verdict.reason ?? "the user said no", note, { stage: "request" });
    if (verdict.params) {
      inputTokens = sizeOf(verdict.params);
      const maxTokens = budget.grant(verdict.params.maxTokens, inputTokens, account.held);
      params = { ...verdict.params, maxTokens };
      budget.settle(account.held, inputTokens + maxTokens);
      account.held = inputTokens + maxTokens;
      account.spent = inputTokens;
    }
  }
  note("asked", { model: model.id, params });

  let usage: TokenUsage = {};
  let result = await answerSampling(model, params, {
    signal,
    onUsage: (used) => {
      usage = used;
    },
  });
  account.spent = (usage.inputTokens ?? inputTokens) + (usage.outputTokens ?? estimateTokens(result));
  if (reviews.response) {
    const verdict = await asking.ask<"sample">({ ...asked, stage: "response", params, result }, options);
    if (!verdict.allow) throw refused(verdict.reason ?? "the user keeps the answer", note, { stage: "response" });
    if (verdict.result) result = verdict.result;
  }
  note("answered", { model: result.model, result });
  return result;
}

/** What the server hears; the code is the one that the specification gives for a user's no. */
/** Refused without asking anybody: written down once in a while, since a server may go on without end. */
function spent(why: string, { budget, note }: Sampling, data: object): RpcError {
  return refused(why, budget.isNews(why) ? note : () => {}, data);
}

function refused(why: string, note: Sampling["note"], data: object): RpcError {
  note("refused", { ...data, why });
  return new RpcError(-1, `Sampling was refused: ${why}`);
}

function sizeOf({ systemPrompt = "", messages, tools = [] }: CreateMessageParams): number {
  return estimateTokens([systemPrompt, messages, tools]);
}

function canTake(model: Model, params: CreateMessageParams): boolean {
  return lacksOf(model, needsOf(params)).length === 0;
}

function choiceOf({ id, capabilities, notice }: Model): ModelChoice {
  return { id, capabilities, ...(notice !== undefined && { notice }) };
}

/** What servers' questions are answered with. */
export interface AnswersRoom {
  readonly asking: Asking;
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

/** How one server's questions are answered, the same on every revision; what nobody answers is not offered. */
export function answersFor(server: HostedServer, room: AnswersRoom, during: During = {}): Answers {
  const { asking, models, sampling } = room;
  const { answers } = during;
  const review = sampling.servers?.[server.name]?.review ?? sampling.review ?? "both";
  const mayBeAsked = asking.answers("sample", answers) || review === "none";
  const ask = new ServerAnswers(server, room, during);
  return {
    ...(asking.answers("elicit", answers) && { elicit: (params, context) => ask.elicit(params, context) }),
    ...(asking.answers("openUrl", answers) && { openUrl: (params, context) => ask.openUrl(params, context) }),
    ...(mayBeAsked && models.length > 0 && { sample: (params, context) => ask.sample(params, context, review) }),
    ...(room.roots() && { roots: (context) => ask.roots(context) }),
  };
}

class ServerAnswers {
  readonly #server: HostedServer;
  readonly #room: AnswersRoom;
  readonly #during: During;

  constructor(server: HostedServer, room: AnswersRoom, during: During) {
    this.#server = server;
    this.#room = room;
    this.#during = during;
  }

  async elicit(params: ElicitFormParams, { signal }: QuestionContext): Promise<ElicitResult> {
    this.#count("form");
    const secretFields = secretFieldsOf(params);
    this.#note("question", {
      of: "form",
      message: params.message,
      fields: Object.keys(params.requestedSchema.properties),
    });
    const asked = { kind: "elicit", params, secretFields, ...this.#asked } as const;
    const { sendSecrets = false, ...answer } = await this.#room.asking.ask<"elicit">(asked, this.#options(signal));
    const given = secretFields.filter((name) => answer.content?.[name] !== undefined);
    if (answer.action === "accept" && given.length > 0 && !sendSecrets) {
      this.#note("answer", { of: "form", action: "decline", why: `secret fields: ${given.join(", ")}` });
      return { action: "decline" };
    }
    // What was entered is between the user and the server.
    this.#note("answer", { of: "form", action: answer.action });
    return answer;
  }

  async openUrl(params: ElicitUrlParams, { signal }: QuestionContext): Promise<ElicitResult> {
    this.#count("address");
    const address = inspectHost(params.url);
    const isSafe = address.scheme === "https" || (address.scheme === "http" && address.isLoopback);
    this.#note("question", { of: "address", host: address.host, warnings: address.warnings });
    if (!isSafe || address.hasCredentials) {
      this.#note("answer", { of: "address", action: "decline", why: "it is no safe address" });
      return { action: "decline" };
    }
    const asked = { kind: "openUrl", params, address, ...this.#asked } as const;
    const { action } = await this.#room.asking.ask<"openUrl">(asked, this.#options(signal));
    this.#note("answer", { of: "address", action });
    return { action };
  }

  async sample(
    params: Parameters<typeof sample>[1],
    context: QuestionContext,
    review: "both" | "request" | "none",
  ): ReturnType<typeof sample> {
    const { asking, models, budgetOf, grants } = this.#room;
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
        asking,
        budget: budgetOf(name),
        reviews: (model) => ({
          request: review !== "none" && !isAllowed(model),
          response: review === "both" && !isAllowed(model),
        }),
        note: (step, data) => this.#note("sampling", { step, ...data }),
        decided: async ({ allow, for: scope = "once" }, { id }) => {
          if (scope !== "once") await grants.add({ ...bound, subject: allow ? id : "", allow, scope });
        },
      },
      params,
      context,
      this.#during,
    );
  }

  /** The roots that the server may know of: those meant for it, and those that the user agrees to. */
  async roots({ signal }: QuestionContext): Promise<readonly Root[]> {
    this.#count("roots");
    const { asking, grants, roots } = this.#room;
    const { name, digest: serverDigest } = this.#server;
    const { given, asked } = sortRoots(roots() ?? [], name);
    if (asked.length === 0) return this.#exposed(given);
    const bound = { kind: "roots", server: name, serverDigest, subject: "" } as const;
    const agreed: Root[] = [];
    const open: Root[] = [];
    for (const root of asked) {
      const known = grants.find({ ...bound, subject: root.uri, digest: await sha256(root.uri) });
      if (!known) open.push(root);
      else if (known.allow) agreed.push(root);
    }
    if (open.length > 0 && asking.answers("roots", this.#during.answers)) {
      const verdict = await asking.ask<"roots">({ kind: "roots", roots: open, ...this.#asked }, this.#options(signal));
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
    const rate = this.#room.rateOf(name);
    const taken = rate.take();
    if (taken === "asked") return;
    const why = `more than ${rate.perMinute} questions in a minute`;
    if (taken === "first too many") {
      this.#note("question", { of, refused: why });
      this.#room.warn(name, `It has asked ${why}; the others of this minute are refused`);
    }
    throw new RpcError(-1, `Nobody was asked: a server may not ask ${why}`);
  }

  #exposed(roots: readonly Root[]): readonly Root[] {
    this.#note("roots", { roots });
    return roots;
  }

  get #asked(): { server: string; run?: string } {
    const { run } = this.#during;
    return { server: this.#server.name, ...(run !== undefined && { run }) };
  }

  #options(signal: AbortSignal): AskOptions {
    return { own: this.#during.answers, signal };
  }

  #note(kind: "question" | "answer" | "sampling" | "roots", data: object): void {
    this.#room.activity.record({ kind, server: this.#server.name, ...data }, { urgent: true });
  }
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
  readonly #told = new Map<string, number>();

  constructor(limits: SamplingLimits, clock: Clock) {
    const { maxTokens = 4_096, tokens = 100_000, requests = 1_000, requestsPerMinute = 10 } = limits;
    this.#limits = { maxTokens, tokens, requests, requestsPerMinute };
    this.maxTokens = maxTokens;
    this.#clock = clock;
  }

  get left(): { tokens: number; requests: number } {
    const { tokens, requests } = this.#limits;
    return { tokens: Math.max(0, tokens - this.#tokens), requests: Math.max(0, requests - this.#requests) };
  }

  /** Whether a refusal is worth a word: the same within a minute is not. */
  isNews(why: string): boolean {
    const now = this.#clock.now();
    const isNews = now - (this.#told.get(why) ?? Number.NEGATIVE_INFINITY) >= 60_000;
    if (isNews) this.#told.set(why, now);
    return isNews;
  }

  /** Counts a request that may use so many tokens; says what it is too much for, and then counts nothing. */
  take(mayUse: number): string | undefined {
    const { requestsPerMinute, requests, tokens } = this.#limits;
    const now = this.#clock.now();
    while (this.#recent[0] !== undefined && now - this.#recent[0] >= 60_000) this.#recent.shift();
    if (this.#recent.length >= requestsPerMinute) return `${requestsPerMinute} requests in a minute`;
    if (this.#requests >= requests) return `${requests} requests`;
    if (this.#tokens + mayUse > tokens) return `${tokens} tokens`;
    this.#recent.push(now);
    this.#requests += 1;
    // At once, not when the answer is there: requests made side by side share what is left.
    this.#tokens += mayUse;
    return undefined;
  }

  /** What an answer may still have of a wish for so many, beside what its request takes; `held` was counted for it before. */
  grant(wanted: number, inputTokens = 0, held = 0): number {
    return Math.max(1, Math.min(wanted, this.maxTokens, this.left.tokens + held - inputTokens));
  }

  /** Corrects what was counted for a request by what it has used. */
  settle(mayUse: number, used: number): void {
    this.#tokens += used - mayUse;
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
    const budget = budgets.get(server) ?? new Budget({ ...limits, ...said(own) }, clock);
    budgets.set(server, budget);
    return budget;
  };
}

function checkLimits(of: string, { maxTokens, tokens, requests, requestsPerMinute }: SamplingLimits): void {
  checkBounds(of, { maxTokens, tokens, requests, requestsPerMinute });
}

function said(limits: SamplingLimits = {}): SamplingLimits {
  return Object.fromEntries(Object.entries(limits).filter(([, limit]) => limit !== undefined));
}
