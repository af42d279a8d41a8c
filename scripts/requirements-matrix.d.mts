/** A requirement of the specification matrix. */
export interface ParsedRequirement {
  readonly requirement: string;
  readonly text: string;
  readonly levels: { readonly [revision: string]: string };
}

export const source: string;
export const target: string;
export function parseMatrix(text: string): { [id: string]: ParsedRequirement };

/** A requirement on an extension. */
export interface ExtensionRequirement {
  /** `S` server, `C` client, `H` host, `V` the app in its frame, `P` sandbox proxy, `both` server and client, or another word. */
  readonly side: string;
  readonly level: string;
  readonly requirement: string;
}

export const extensionSource: string;
export const extensionTarget: string;
export function parseExtensions(text: string): { [id: string]: ExtensionRequirement };
