import type {
  ContentBlock,
  CreateMessageParams,
  CreateMessageResult,
  ElicitFormParams,
  ElicitResult,
  ElicitUrlParams,
  JsonObject,
  Root,
  Tool,
} from "portolan";
import type { Skill } from "portolan/client/skills";
import type { MaybePromise } from "portolan/internal";
import type { AppGrant } from "./apps/sources.ts";
import type { TrustSubject } from "./config/index.ts";
import type { HostInspection, SuspiciousText } from "./display/index.ts";
import type { ModelCapabilities } from "./models/model.ts";
import type { Caution, ChangedDefinition } from "./policy/index.ts";
import type { SkillChange } from "./skills/skills.ts";

/** Members of every question. */
export interface QuestionBase {
  /** Random, so that it cannot be guessed. */
  readonly id: string;
  /** The server that the question is about. */
  readonly server: string;
  /** The run that caused the question. */
  readonly run?: string;
  /** The host's id of the call that the question belongs to, as in the events `call` and `ended`. */
  readonly call?: string;
  /** Milliseconds since 1970. */
  readonly askedAt: number;
  /** Digest of everything that is shown: of all members but `id`, `askedAt` and `signal`. */
  readonly digest: string;
  /** Aborts when no answer is needed any more. Not enumerable, so that `JSON.stringify` leaves it out. */
  readonly signal: AbortSignal;
}

/** May this server be started or connected to? */
export interface TrustQuestion extends QuestionBase {
  readonly kind: "trust";
  /** The exact command or address, and the origin of its configuration. */
  readonly subject: TrustSubject;
}

/** An action on the user's behalf. */
export type Action =
  | {
      readonly kind: "tool";
      readonly tool: string;
      readonly args: JsonObject;
      readonly definition: Tool;
      /** The URI of the app that offers the tool, while it is shown; undefined for a tool of the server itself. */
      readonly app?: string;
    }
  /** Sends data of the server to the model. */
  | { readonly kind: "resource"; readonly uri: string }
  /** Shows an app of the server, which may then reach and use what it declares. */
  | ({
      readonly kind: "app";
      readonly uri: string;
      readonly tool: string;
      /** One sentence for each thing that the user should know: the origins, the permissions, what no host can stop. */
      readonly warnings: readonly string[];
    } & AppGrant)
  | SkillAction;

/** Gives instructions of a server to the model, with the files that they name. */
export interface SkillAction {
  readonly kind: "skill";
  /** The URI of its `SKILL.md`. */
  readonly uri: string;
  /** The entry of the skill: its name, its description, and each file with its size. */
  readonly skill: Skill;
  /** The digest that an answer is bound to; undefined for a dynamic skill, for which no answer is kept. */
  readonly digest?: string;
  /** The changes since the skill was loaded last. */
  readonly changes?: readonly SkillChange[];
}

/** May this action be carried out? */
export interface ApprovalQuestion extends QuestionBase {
  readonly kind: "approve";
  /** The model's id of the call. */
  readonly callId?: string;
  /** Set if an app of the server makes the call, and not the model. */
  readonly by?: "app";
  readonly action: Action;
  /** Why the question is asked. */
  readonly reason: string;
  /** The index of the rule that asks; undefined if no rule matches the call. */
  readonly rule?: number;
  /** Reasons for special care. */
  readonly cautions: readonly Caution[];
  /** Suspicious wording in the definition. An empty list proves nothing. */
  readonly findings: readonly SuspiciousText[];
  /** Another tool with a confusingly similar name. */
  readonly resembles?: string;
  /** True if the answer counts once, whatever its `for`: a dynamic skill, or a skill that may cause a read elsewhere. */
  readonly isOnce?: boolean;
  /** True if the same call was sent before and may have taken effect. Its answer counts once. */
  readonly mayHaveRun?: boolean;
}

/** May this tool be used again, although its definition changed since it was accepted? */
export interface ChangedQuestion extends QuestionBase {
  readonly kind: "changed";
  /** Both definitions, and every place that differs. */
  readonly change: ChangedDefinition;
  /** When the earlier definition was first seen or accepted, in milliseconds since 1970. */
  readonly acceptedAt?: number;
  /** The call that wants the tool. If the change is accepted, it goes on to ordinary consent. */
  readonly action?: Action;
  /** The model's id of the call. */
  readonly callId?: string;
  /** Suspicious wording in the new definition. An empty list proves nothing. */
  readonly findings: readonly SuspiciousText[];
}

/** Will the user fill in this form? */
export interface FormQuestion extends QuestionBase {
  readonly kind: "elicit";
  readonly params: ElicitFormParams;
  /** Fields that seem to ask for secrets, which forms must not. They are sent only with `sendSecrets`. */
  readonly secretFields: readonly string[];
}

/** Will the user open this address? The host never fetches it. */
export interface UrlQuestion extends QuestionBase {
  readonly kind: "openUrl";
  readonly params: ElicitUrlParams;
  /** The whole address and its real host. */
  readonly address: HostInspection;
}

/** May this request go to a model, or its answer to the server? */
export type SamplingQuestion = SamplingRequestQuestion | SamplingResponseQuestion;

/** May this request of a server go to a model? */
export interface SamplingRequestQuestion extends QuestionBase {
  readonly kind: "sample";
  readonly stage: "request";
  readonly params: CreateMessageParams;
  /** The chosen model, and the others that could answer. */
  readonly model: ModelChoice;
  readonly alternatives: readonly ModelChoice[];
  /** Estimated size of the request. */
  readonly inputTokens: number;
  /** The rest of the server's budget. */
  readonly left: { readonly tokens: number; readonly requests: number };
}

/** May this answer of a model go back to the server? */
export interface SamplingResponseQuestion extends QuestionBase {
  readonly kind: "sample";
  readonly stage: "response";
  readonly params: CreateMessageParams;
  readonly result: CreateMessageResult;
}

/** A model that could answer a sampling request. */
export interface ModelChoice {
  readonly id: string;
  readonly capabilities: ModelCapabilities;
  readonly notice?: string;
}

/** May the server see these directories? */
export interface RootsQuestion extends QuestionBase {
  readonly kind: "roots";
  readonly roots: readonly Root[];
}

/** May this message of an app be sent as if the user had written it? */
export interface SayQuestion extends QuestionBase {
  readonly kind: "say";
  /** The URI of the app. */
  readonly app: string;
  readonly content: readonly ContentBlock[];
  /** Suspicious wording in the message. An empty list proves nothing. */
  readonly findings: readonly SuspiciousText[];
}

/** A question that a host puts to its user. */
export type HostQuestion =
  | TrustQuestion
  | ApprovalQuestion
  | ChangedQuestion
  | FormQuestion
  | UrlQuestion
  | SamplingQuestion
  | RootsQuestion
  | SayQuestion;

/** How long an answer is valid: for this question, until the host closes, or until it is revoked. */
export type AnswerScope = "once" | "session" | "always";

/** Yes or no, and how long it is valid. */
export interface Verdict {
  readonly allow: boolean;
  /** Default: "once". */
  readonly for?: AnswerScope;
  /** Reason of a "no", for the model or the server that asked. */
  readonly reason?: string;
}

/** The answer to the question whether a server may start. */
export interface TrustVerdict extends Verdict {
  /** Trusts the server's hints about its tools (read-only, destructive…). */
  readonly trustHints?: boolean;
}

/** The answer to the question whether a tool may be called or a resource be sent. */
export interface ApprovalVerdict extends Verdict {
  /** Valid only for exactly these arguments. */
  readonly onlyTheseArguments?: boolean;
  /** True for a "no" of the application, which has no way to ask the user. It is never kept. */
  readonly isUnasked?: boolean;
}

/** The answer to a form. */
export interface FormAnswer extends ElicitResult {
  /** Sends the values of fields that look secret. */
  readonly sendSecrets?: boolean;
}

/** The answer to a question about sampling. The user may change what is sent. */
export interface SamplingVerdict extends Verdict {
  /** Replaces the server's request. */
  readonly params?: CreateMessageParams;
  /** The id of another model. */
  readonly model?: string;
  /** Replaces the model's answer. */
  readonly result?: CreateMessageResult;
}

/** The answer to the question whether a server may see directories. */
export interface RootsVerdict extends Verdict {
  /** Only these directories. Default: all of the question. */
  readonly roots?: readonly Root[];
}

/** Options of `host.answer`. */
export interface AnswerOptions {
  /** The digest of the question that was shown. The answer to another question is rejected with "question-changed". */
  readonly digest?: string;
  /** Name of the person or device that answers, for the log and for other user interfaces. */
  readonly by?: string;
}

/** The effect of an answer. */
export interface AnswerReceipt {
  /** The id of the grant that the answer made. */
  readonly grant?: string;
}

/** A function that answers questions, or "later" for those that `host.answer` answers. */
export type Answerer<Q, A> = ((question: Q) => MaybePromise<A>) | "later";

/** Callbacks that answer on the user's behalf. Without one, the answer is no, or servers cannot ask at all. */
export interface HostAnswers {
  readonly trust?: Answerer<TrustQuestion, TrustVerdict | boolean>;
  readonly approve?: Answerer<ApprovalQuestion, ApprovalVerdict | boolean>;
  /** Without it, a call of a tool whose definition changed is refused. */
  readonly changed?: Answerer<ChangedQuestion, ApprovalVerdict | boolean>;
  readonly elicit?: Answerer<FormQuestion, FormAnswer>;
  readonly openUrl?: Answerer<UrlQuestion, ElicitResult>;
  readonly sample?: Answerer<SamplingQuestion, SamplingVerdict | boolean>;
  readonly roots?: Answerer<RootsQuestion, RootsVerdict | boolean>;
  readonly say?: Answerer<SayQuestion, Verdict | boolean>;
}

/** The kind of a question: the member of `answers` that answers it. */
export type QuestionKind = HostQuestion["kind"];

/** The complete answer to each kind of question. */
export interface AnswerOf {
  trust: TrustVerdict;
  approve: ApprovalVerdict;
  /** A yes accepts the definition until it changes again, whatever its `for` is. */
  changed: ApprovalVerdict;
  elicit: FormAnswer;
  openUrl: ElicitResult;
  sample: SamplingVerdict;
  roots: RootsVerdict;
  say: Verdict;
}
