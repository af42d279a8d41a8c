import type { RequestParams, Result } from "./base.ts";

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
