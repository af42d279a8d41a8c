/** One call of a client, from its first byte to its end. */
export interface RecordedCall {
  readonly id: string;
  readonly client: string;
  readonly tool: string;
  readonly isStateless: boolean;
  readonly startedAt: number;
  /** The rounds that were sent: more than one only if the server asked a stateless client. */
  rounds: number;
  /** Each end of the call: there must be one. */
  readonly ends: CallEnd[];
  /** The last progress that arrived. */
  progress: number;
  cancelledAt?: number;
  /** The name that the client gave as its answer. */
  answered?: string;
}

/** The end of a call, as its client saw it. */
export interface CallEnd {
  readonly at: number;
  /** The text of the result. */
  readonly result?: string;
  readonly reason?: string;
  readonly status?: number | undefined;
}

/** Something that a client heard of a subscription. */
export interface Heard {
  readonly at: number;
  readonly uri: string;
}

/** A subscription of a client, which lasts until the end of the history. */
export interface RecordedSubscription {
  readonly client: string;
  readonly uri: string;
  readonly isStateless: boolean;
  readonly askedAt: number;
  /** The time of the confirmation. Undefined until then, and while a new session has not confirmed it again. */
  confirmedAt: number | undefined;
  /** The times at which the client was told that it may have missed changes: by 404, or by the end of a stateless stream. */
  readonly gaps: number[];
  readonly heard: Heard[];
  /** The number of connections that carried its stream. */
  connections: number;
  /** True if everything that the client heard is on record, and not only what its watch made of it. */
  readonly isRaw: boolean;
}

export interface RecordedPublication {
  readonly uri: string;
  readonly parent: string;
  readonly node: string;
  /** The time before it was published. */
  readonly at: number;
  /** The time at which Redis had passed it on; undefined if that is not known. */
  readonly passedOnAt: number | undefined;
}

/** Everything that the clients of one history saw. */
export class HistoryRecord {
  readonly seed: number;
  readonly calls: RecordedCall[] = [];
  readonly subscriptions: RecordedSubscription[] = [];
  readonly publications: RecordedPublication[] = [];
  /** What was wrong at once, without a look at the whole. */
  readonly violations: string[] = [];
  readonly #begunAt: number;
  readonly #lines: { readonly at: number; readonly client: string; readonly text: string }[] = [];

  constructor(seed: number, begunAt: number) {
    this.seed = seed;
    this.#begunAt = begunAt;
  }

  note(client: string, text: string): void {
    this.#lines.push({ at: Date.now(), client, text });
  }

  violation(client: string, text: string): void {
    this.note(client, `WRONG: ${text}`);
    this.violations.push(`${client}: ${text}`);
  }

  begin(client: string, tool: string, isStateless: boolean): RecordedCall {
    const id = `${this.seed}-${client}-${this.calls.length}`;
    const call: RecordedCall = {
      id,
      client,
      tool,
      isStateless,
      startedAt: Date.now(),
      rounds: 1,
      ends: [],
      progress: 0,
    };
    this.calls.push(call);
    this.note(client, `calls ${tool} ${id}`);
    return call;
  }

  end(call: RecordedCall, how: Omit<CallEnd, "at">): void {
    call.ends.push({ at: Date.now(), ...how });
    const failed = `failed ${how.status ?? ""} ${how.reason}`;
    this.note(call.client, `${call.id} ${how.result === undefined ? failed : `returned ${how.result}`}`);
  }

  /** The lines around a name: what a reader needs to see what happened to it. */
  trace(about: readonly string[], others: readonly { readonly at: number; readonly text: string }[]): string {
    // What a client reports has no name of a call.
    const lines = this.#lines.filter(({ client, text }) =>
      about.some(
        (part) =>
          client === part ||
          text.includes(part) ||
          (part.includes(`${this.seed}-${client}-`) && text.startsWith("reports")),
      ),
    );
    return [...lines.map(({ at, client, text }) => ({ at, text: `${client}: ${text}` })), ...others]
      .sort((a, b) => a.at - b.at)
      .map(({ at, text }) => `${String(at - this.#begunAt).padStart(6)} ms  ${text}`)
      .join("\n");
  }
}

/** The part of a tool's result that a history looks at. */
export interface ToolResult {
  readonly content: readonly { readonly text?: string }[];
  readonly isError?: boolean;
}

/** A tool that failed told the reason in its result. */
export function toEnd({ content, isError }: ToolResult): Omit<CallEnd, "at"> {
  const text = content[0]?.text ?? "";
  return isError ? { reason: text } : { result: text };
}
