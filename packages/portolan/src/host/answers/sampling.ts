import type { QuestionContext } from "../../client/options.ts";
import { RpcError } from "../../jsonrpc/message.ts";
import { chooseModel } from "../../models/choose.ts";
import type { Model, Usage } from "../../models/model.ts";
import { lacksOf, needsOf } from "../../models/needs.ts";
import { answerSampling } from "../../models/sampling.ts";
import { estimateTokens } from "../../models/tokens.ts";
import type { CreateMessageParams, CreateMessageResult } from "../../protocol/types/index.ts";
import type { Asking } from "../asking.ts";
import type { HostAnswers, ModelChoice, SamplingVerdict } from "../questions.ts";
import type { Budget } from "./budget.ts";

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

  let usage: Usage = {};
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
