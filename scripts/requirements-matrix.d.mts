/** A requirement of the specification matrix. */
export interface ParsedRequirement {
  readonly requirement: string;
  readonly text: string;
  readonly levels: { readonly [revision: string]: string };
}

export const source: string;
export const target: string;
export function parseMatrix(text: string): { [id: string]: ParsedRequirement };
