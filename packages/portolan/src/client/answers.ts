import type { MaybePromise } from "../async.ts";
import type {
  CreateMessageParams,
  CreateMessageResult,
  ElicitFormParams,
  ElicitResult,
  ElicitUrlParams,
  Root,
} from "../protocol/types/index.ts";
import type { ServerProfile } from "./profile.ts";

/** What is known about a question beside its text. */
export interface QuestionContext {
  /** Who asks. */
  readonly server: ServerProfile | undefined;
  /** The request in whose course it is asked, where that is known. */
  readonly during?: { readonly method: string; readonly name: string | undefined } | undefined;
  /** Aborts when the question is taken back, its call ends, or the connection is lost. */
  readonly signal: AbortSignal;
}

/**
 * How this client answers a server, the same on every revision. What is there is declared as a capability; throw to
 * refuse to answer at all, which ends the server's call.
 */
export interface Answers {
  /** Fills in a form. Defaults of fields that are left out are filled in, and what is accepted is checked. */
  elicit?(params: ElicitFormParams, context: QuestionContext): MaybePromise<ElicitResult>;
  /** Shows the address and, with the user's consent, opens it; `accept` means consent. */
  visit?(params: ElicitUrlParams, context: QuestionContext): MaybePromise<ElicitResult>;
  /** Asks the client's model. Declare `sampling: { tools: {} }` in `capabilities` to be asked with tools. */
  sample?(params: CreateMessageParams, context: QuestionContext): MaybePromise<CreateMessageResult>;
  /** The directories that the server may work in. */
  roots?: readonly Root[] | ((context: QuestionContext) => MaybePromise<readonly Root[]>);
}
