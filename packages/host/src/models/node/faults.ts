/** What goes wrong with an answer of the fake provider. Numbers of events count what was sent before. */
export interface FakeModelFaults {
  /** How many requests in a row have these faults; one unless given. */
  readonly times?: number;
  /** An error instead of an answer. */
  readonly status?: {
    readonly code: number;
    readonly retryAfter?: string;
    readonly message?: string;
    readonly type?: string;
  };
  /** A redirect instead of an answer. */
  readonly redirectTo?: string;
  /** The headers wait for this. */
  readonly waitFor?: Promise<unknown>;
  /** The connection is reset. */
  readonly reset?: "before-headers" | { readonly afterEvents: number };
  /** An event that is no JSON. */
  readonly malformed?: { readonly afterEvents: number };
  /** An error as an event, after which the stream ends. */
  readonly error?: { readonly afterEvents: number; readonly type: string; readonly message: string };
  /** Nothing more comes, and the connection stays. */
  readonly silent?: { readonly afterEvents: number };
  /** The stream ends as if it were over. */
  readonly cut?: { readonly afterEvents: number };
  /** So many bytes at a time, wherever characters end. */
  readonly pieceBytes?: number;
  /** The arguments of tools come character by character. */
  readonly splitTools?: boolean;
  readonly noUsage?: boolean;
  /** Without the event that says that all is over. */
  readonly noDone?: boolean;
  /** One JSON body instead of a stream. */
  readonly plain?: boolean;
}
