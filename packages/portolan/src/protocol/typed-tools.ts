/** What is known of one tool. */
export interface ToolTypes<N extends string, A, O> {
  readonly name: N;
  readonly input: A;
  readonly output: O;
}

/** The tools of a definition that has none yet and keeps the types of those it gets. */
export interface NoTools {
  readonly name: never;
}

/**
 * The types of a definition's tools after one more, as a union; where they are not kept, there is nothing to add to.
 * A union is copied for every further tool, so that they are kept only where a client is typed by them.
 */
export type AddTool<Tools, N extends string, A, O> = unknown extends Tools ? unknown : Tools | ToolTypes<N, A, O>;

/** The tools of a union by name. */
export type ToolsByName<Tools> = { [E in Tools as E extends { readonly name: infer N extends string } ? N : never]: E };
