/** The ways to reach a server. */
export type Transport = "stdio" | "http" | "http-sse";

export type RevisionDate = "2024-11-05" | "2025-03-26" | "2025-06-18" | "2025-11-25" | "2026-07-28";

/** What differs between the revisions for whoever speaks them. */
export interface Revision {
  readonly date: RevisionDate;
  /** Every request describes itself; nothing is opened with a handshake. */
  readonly isStateless: boolean;
  /** A method that every server of the revision has, and that does nothing. */
  readonly simplest: "ping" | "server/discover";
  readonly transports: readonly Transport[];
  /** Later requests over HTTP name the version in a header. */
  readonly namesVersion: boolean;
  /** The capabilities of a client that can do everything. */
  readonly everything: { readonly [capability: string]: object };
}

const roots = { roots: { listChanged: true } };

/** All revisions, oldest first. */
export const revisions: readonly Revision[] = [
  {
    date: "2024-11-05",
    isStateless: false,
    simplest: "ping",
    transports: ["stdio", "http-sse"],
    namesVersion: false,
    everything: { ...roots, sampling: {} },
  },
  {
    date: "2025-03-26",
    isStateless: false,
    simplest: "ping",
    transports: ["stdio", "http"],
    namesVersion: false,
    everything: { ...roots, sampling: {} },
  },
  {
    date: "2025-06-18",
    isStateless: false,
    simplest: "ping",
    transports: ["stdio", "http"],
    namesVersion: true,
    everything: { ...roots, sampling: {}, elicitation: {} },
  },
  {
    date: "2025-11-25",
    isStateless: false,
    simplest: "ping",
    transports: ["stdio", "http"],
    namesVersion: true,
    everything: { ...roots, sampling: { tools: {}, context: {} }, elicitation: { form: {}, url: {} } },
  },
  {
    date: "2026-07-28",
    isStateless: true,
    simplest: "server/discover",
    transports: ["stdio", "http"],
    namesVersion: true,
    everything: { roots: {}, sampling: { tools: {}, context: {} }, elicitation: { form: {}, url: {} } },
  },
];

/** The metadata key of this name that the specification reserves. */
export function metaKey(name: string): string {
  return `io.modelcontextprotocol/${name}`;
}
