/** The name and the types of one tool. Here, because client and server both need it and neither imports the other. */
export interface ToolTypes<N extends string, A, O> {
  readonly name: N;
  readonly input: A;
  readonly output: O;
}

/** The tools of an empty definition that keeps the types of the tools it gets. */
export interface NoTools {
  readonly name: never;
}

/**
 * Adds a tool to the union of a definition's tools; `unknown` stays `unknown`. TypeScript copies the union for every
 * further tool, so definitions keep these types only if a client is typed by them.
 */
export type AddTool<Tools, N extends string, A, O> = unknown extends Tools ? unknown : Tools | ToolTypes<N, A, O>;

/** Maps a union of tools to an object by name. */
export type ToolsByName<Tools> = { [E in Tools as E extends { readonly name: infer N extends string } ? N : never]: E };
