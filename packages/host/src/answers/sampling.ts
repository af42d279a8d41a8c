import type { CreateMessageParams, CreateMessageResult } from "portolan";
import { RpcError } from "portolan";
import type { QuestionContext } from "portolan/client";
import { chooseModel, missingCapabilities, requirementsOf } from "../models/choose.ts";
import type { Model, TokenUsage } from "../models/model.ts";
import { answerSampling } from "../models/sampling.ts";
import { estimateTokens } from "../models/tokens.ts";
import type { OpenQuestions } from "../open-questions.ts";
import type { AnswerReceipt, ModelChoice, SamplingVerdict } from "../questions.ts";
import type { Budget } from "./sampling-budget.ts";
import type { CallOrigin, SamplingFailure } from "./server-answers.ts";

/** Everything that one sampling request needs. */
export interface SamplingContext {
  readonly server: string;
  readonly models: readonly Model[];
  readonly budget: Budget;
  readonly questions: OpenQuestions;
  /** The parts that the user reviews for this model. */
  readonly reviews: (model: Model) => { readonly request: boolean; readonly response: boolean };
  /** Records a step in the log. */
  readonly log: (step: string, data: object) => void;
  readonly failed: (failure: SamplingFailure) => void;
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
  { server, models, budget, questions, reviews: reviewsOf, log, failed, remember }: SamplingContext,
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
    if (!signal.aborted) {
      const why = reason instanceof Error ? reason.message : String(reason);
      log("failed", { model: model.id, why });
      failed({ server, ...belongsTo, model: model.id, message: why });
    }
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
