import type { CacheHints, Icon, Meta, PaginatedResult, Result, Role } from "./base.ts";
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
