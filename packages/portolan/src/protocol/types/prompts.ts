import type { CacheHints, Icon, Meta, PaginatedResult, RequestParams, Result, Role } from "./base.ts";
import type { ContentBlock } from "./content.ts";
import type { RetryParams } from "./questions.ts";

/** An argument of a prompt. Its value is a string. */
export interface PromptArgument {
  name: string;
  /** The name for people. Since 2025-06-18. */
  title?: string;
  description?: string;
  required?: boolean;
}

/** A prompt in a server's list. */
export interface Prompt {
  name: string;
  /** The name for people. Since 2025-06-18. */
  title?: string;
  description?: string;
  arguments?: PromptArgument[];
  /** Since 2025-11-25. */
  icons?: Icon[];
  _meta?: Meta;
}

/** One message of a prompt. */
export interface PromptMessage {
  role: Role;
  content: ContentBlock;
}

/** The result of `prompts/list`: one page. */
export interface ListPromptsResult extends PaginatedResult, CacheHints {
  prompts: Prompt[];
}

/** The params of `prompts/get`. */
export interface GetPromptParams extends RetryParams {
  name: string;
  arguments?: { [name: string]: string };
}

/** The result of `prompts/get`: a prompt with its arguments filled in. */
export interface GetPromptResult extends Result {
  description?: string;
  messages: PromptMessage[];
}

/** A reference to the prompt whose argument is completed. */
export interface PromptReference {
  type: "ref/prompt";
  name: string;
  /** The name for people. Since 2025-06-18. */
  title?: string;
}

/** A reference to the resource template whose variable is completed. */
export interface ResourceTemplateReference {
  type: "ref/resource";
  /** A URI template, or the URI of one resource. */
  uri: string;
}

/** A reference to the owner of the argument that is completed. */
export type CompletionReference = PromptReference | ResourceTemplateReference;

/** The params of `completion/complete`. */
export interface CompleteParams extends RequestParams {
  ref: CompletionReference;
  argument: { name: string; value: string };
  /** The arguments that are already chosen. Since 2025-06-18. */
  context?: { arguments?: { [name: string]: string } };
}

/** Suggestions for an argument. */
export interface Completion {
  /** The best first. At most 100. */
  values: string[];
  /** The number of all suggestions, including those not sent. */
  total?: number;
  hasMore?: boolean;
}

/** The result of `completion/complete`. */
export interface CompleteResult extends Result {
  completion: Completion;
}
