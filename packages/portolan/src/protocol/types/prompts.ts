import type { CacheHints, Icon, Meta, PaginatedResult, RequestParams, Result, Role } from "./base.ts";
import type { ContentBlock } from "./content.ts";
import type { RetryParams } from "./questions.ts";

/** A value that a prompt is filled in with; always a string. */
export interface PromptArgument {
  name: string;
  /** The name to show; unknown to the two oldest revisions. */
  title?: string;
  description?: string;
  required?: boolean;
}

/** A prompt as a server lists it. */
export interface Prompt {
  name: string;
  /** The name to show; unknown to the two oldest revisions. */
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

/** A page of a server's prompts. */
export interface ListPromptsResult extends PaginatedResult, CacheHints {
  prompts: Prompt[];
}

/** The params of `prompts/get`. */
export interface GetPromptParams extends RetryParams {
  name: string;
  arguments?: { [name: string]: string };
}

/** A prompt with its arguments filled in. */
export interface GetPromptResult extends Result {
  description?: string;
  messages: PromptMessage[];
}

/** Names the prompt whose argument is being typed. */
export interface PromptReference {
  type: "ref/prompt";
  name: string;
  /** The name to show; unknown to the two oldest revisions. */
  title?: string;
}

/** Names the resource template whose variable is being typed. */
export interface ResourceTemplateReference {
  type: "ref/resource";
  /** A template, or the address of one resource. */
  uri: string;
}

/** What an argument that is being typed belongs to. */
export type CompletionReference = PromptReference | ResourceTemplateReference;

/** The params of `completion/complete`. */
export interface CompleteParams extends RequestParams {
  ref: CompletionReference;
  argument: { name: string; value: string };
  /** The arguments already chosen; unknown to the two oldest revisions. */
  context?: { arguments?: { [name: string]: string } };
}

/** Suggestions for what was being typed. */
export interface Completion {
  /** The best first, at most 100. */
  values: string[];
  /** How many there are in all, sent or not. */
  total?: number;
  hasMore?: boolean;
}

/** The result of `completion/complete`. */
export interface CompleteResult extends Result {
  completion: Completion;
}
