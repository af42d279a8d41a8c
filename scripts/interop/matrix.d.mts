/** What came of one feature with one peer. */
export interface Finding {
  /** `absent` where the revision or the transport has no such thing, `lacking` where the peer has not. */
  readonly mark: "ok" | "absent" | "lacking" | "failed" | "not run";
  /** Why the peer lacks it. */
  readonly reason?: string;
}

/** One way to speak with another implementation. */
export interface Way {
  readonly peer: string;
  /** What the peer is; we are the other. */
  readonly side: "client" | "server";
  readonly wire: "stdio" | "Streamable HTTP" | "HTTP+SSE";
  readonly version: string;
  /** What tells it from other ways with the same version. */
  readonly habit?: string;
}

export interface Findings extends Way {
  readonly features: { readonly [feature: string]: Finding };
}

export interface Matrix {
  readonly heading: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** Why peers lack something; cells name them by their number, counted from 1. */
  readonly reasons: readonly string[];
  /** What failed or did not run. */
  readonly problems: readonly string[];
}

export declare const folder: string;
export declare function groupOf(feature: string): string;
export declare function readFindings(): Findings[];
export declare function toMatrix(findings: readonly Findings[]): Matrix;
