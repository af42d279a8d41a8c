/** The transports of a server. */
export type Transport = "stdio" | "http" | "http-sse";

export type RevisionDate = "2024-11-05" | "2025-03-26" | "2025-06-18" | "2025-11-25" | "2026-07-28";

/** The differences between revisions that concern a client. */
export interface Revision {
  readonly date: RevisionDate;
  /** Every request describes itself; there is no handshake. */
  readonly isStateless: boolean;
  /** A method without effect that every server of the revision has. */
  readonly simplest: "ping" | "server/discover";
  readonly transports: readonly Transport[];
  /** Tools may have annotations, such as the label read-only. */
  readonly labelsTools: boolean;
  /** Requests after the handshake name the version in an HTTP header. */
  readonly namesVersion: boolean;
  /** The capabilities of a client that supports everything. */
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
    labelsTools: false,
    namesVersion: false,
    everything: { ...roots, sampling: {} },
  },
  {
    date: "2025-03-26",
    isStateless: false,
    simplest: "ping",
    transports: ["stdio", "http"],
    labelsTools: true,
    namesVersion: false,
    everything: { ...roots, sampling: {} },
  },
  {
    date: "2025-06-18",
    isStateless: false,
    simplest: "ping",
    transports: ["stdio", "http"],
    labelsTools: true,
    namesVersion: true,
    everything: { ...roots, sampling: {}, elicitation: {} },
  },
  {
    date: "2025-11-25",
    isStateless: false,
    simplest: "ping",
    transports: ["stdio", "http"],
    labelsTools: true,
    namesVersion: true,
    everything: { ...roots, sampling: { tools: {}, context: {} }, elicitation: { form: {}, url: {} } },
  },
  {
    date: "2026-07-28",
    isStateless: true,
    simplest: "server/discover",
    transports: ["stdio", "http"],
    labelsTools: true,
    namesVersion: true,
    everything: { roots: {}, sampling: { tools: {}, context: {} }, elicitation: { form: {}, url: {} } },
  },
];

/** Returns a metadata key that the specification reserves. */
export function metaKey(name: string): string {
  return `io.modelcontextprotocol/${name}`;
}
