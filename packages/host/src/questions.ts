import type {
  CreateMessageParams,
  CreateMessageResult,
  ElicitFormParams,
  ElicitResult,
  ElicitUrlParams,
  JsonObject,
  Root,
  Tool,
} from "portolan";
import type { MaybePromise } from "portolan/internal";
import type { TrustSubject } from "./config/index.ts";
import type { HostInspection, SuspiciousText } from "./display/index.ts";
import type { ModelCapabilities } from "./models/model.ts";
import type { Caution } from "./policy/index.ts";

/** What every question of a host has. */
export interface QuestionBase {
  readonly id: string;
  /** The server that it is about. */
  readonly server: string;
  /** The run in whose course it came up. */
  readonly run?: string;
  /** Aborts when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

/** May this server be started, or reached, at all? */
export interface TrustQuestion extends QuestionBase {
  readonly kind: "trust";
  /** Exactly what would be started or reached, and who wrote it. */
  readonly subject: TrustSubject;
}

/** What is to be done on the user's behalf. */
export type Action =
  | { readonly kind: "tool"; readonly tool: string; readonly args: JsonObject; readonly definition: Tool }
  /** Data of the server goes to the model. */
  | { readonly kind: "resource"; readonly uri: string };

/** May this be done? */
export interface ApprovalQuestion extends QuestionBase {
  readonly kind: "approve";
  /** The call as the model names it. */
  readonly callId?: string;
  readonly action: Action;
  /** Why it is asked. */
  readonly reason: string;
  /** What makes it riskier than it looks. */
  readonly cautions: readonly Caution[];
  /** What in the definition looks like an attack; nothing found proves nothing. */
  readonly findings: readonly SuspiciousText[];
  /** A tool of another name or server that it could be taken for. */
  readonly resembles?: string;
}

/** Will the user fill in this form? */
export interface FormQuestion extends QuestionBase {
  readonly kind: "elicit";
  readonly params: ElicitFormParams;
  /** Fields that look as if they ask for something secret, which no form may: they are sent only if the answer says so. */
  readonly secretFields: readonly string[];
}

/** Will the user open this address? It was not and will not be fetched. */
export interface UrlQuestion extends QuestionBase {
  readonly kind: "openUrl";
  readonly params: ElicitUrlParams;
  /** The whole address and where it really leads. */
  readonly address: HostInspection;
}

/** May a server's words go to a model, and a model's words to the server? */
export type SamplingQuestion = SamplingRequestQuestion | SamplingResponseQuestion;

export interface SamplingRequestQuestion extends QuestionBase {
  readonly kind: "sample";
  readonly stage: "request";
  readonly params: CreateMessageParams;
  /** The model that would answer, and the others that could. */
  readonly model: ModelChoice;
  readonly alternatives: readonly ModelChoice[];
  /** About how much the request holds. */
  readonly inputTokens: number;
  /** What the server may still use. */
  readonly left: { readonly tokens: number; readonly requests: number };
}

export interface SamplingResponseQuestion extends QuestionBase {
  readonly kind: "sample";
  readonly stage: "response";
  readonly params: CreateMessageParams;
  readonly result: CreateMessageResult;
}

export interface ModelChoice {
  readonly id: string;
  readonly capabilities: ModelCapabilities;
  readonly notice?: string;
}

/** May the server know of these directories? */
export interface RootsQuestion extends QuestionBase {
  readonly kind: "roots";
  readonly roots: readonly Root[];
}

export type HostQuestion =
  | TrustQuestion
  | ApprovalQuestion
  | FormQuestion
  | UrlQuestion
  | SamplingQuestion
  | RootsQuestion;

/** How long an answer holds: this once, until the host is closed, or until it is taken back. */
export type AnswerScope = "once" | "session" | "always";

/** Yes or no, and for how long. */
export interface Verdict {
  readonly allow: boolean;
  /** `once` unless said. */
  readonly for?: AnswerScope;
  /** Told to whoever asked. */
  readonly reason?: string;
}

export interface TrustVerdict extends Verdict {
  /** Whether what it says of its tools (read-only, destructive…) is to be believed. */
  readonly trustHints?: boolean;
}

export interface ApprovalVerdict extends Verdict {
  /** Holds for these very arguments alone. */
  readonly onlyTheseArguments?: boolean;
}

export interface FormAnswer extends ElicitResult {
  /** What was entered into fields that look secret is to be sent nevertheless. */
  readonly sendSecrets?: boolean;
}

export interface SamplingVerdict extends Verdict {
  /** In the place of what the server wants to ask. */
  readonly params?: CreateMessageParams;
  /** Another model. */
  readonly model?: string;
  /** In the place of what the model said. */
  readonly result?: CreateMessageResult;
}

export interface RootsVerdict extends Verdict {
  /** Only these of them. */
  readonly roots?: readonly Root[];
}

/** Answers questions, or has them wait until `host.answer` does. */
export type Answerer<Q, A> = ((question: Q) => MaybePromise<A>) | "later";

/** How an application answers on its user's behalf. What is left out is answered with no, or not offered to servers at all. */
export interface HostAnswers {
  readonly trust?: Answerer<TrustQuestion, TrustVerdict | boolean>;
  readonly approve?: Answerer<ApprovalQuestion, ApprovalVerdict | boolean>;
  readonly elicit?: Answerer<FormQuestion, FormAnswer>;
  readonly openUrl?: Answerer<UrlQuestion, ElicitResult>;
  readonly sample?: Answerer<SamplingQuestion, SamplingVerdict | boolean>;
  readonly roots?: Answerer<RootsQuestion, RootsVerdict | boolean>;
}

export type QuestionKind = HostQuestion["kind"];

/** What a question of some kind is answered with, in full. */
export interface AnswerOf {
  trust: TrustVerdict;
  approve: ApprovalVerdict;
  elicit: FormAnswer;
  openUrl: ElicitResult;
  sample: SamplingVerdict;
  roots: RootsVerdict;
}
