/** What an entry tells of. */
export type ActivityKind =
  | "server"
  | "trust"
  | "decision"
  | "call"
  | "result"
  | "resource"
  | "prompt"
  | "question"
  | "answer"
  | "sampling"
  | "roots"
  | "definition"
  | "grant"
  | "error";

/** Something to be recorded; members beside the named ones may be any JSON values. */
export interface Activity {
  readonly kind: ActivityKind;
  readonly server?: string;
  /** The tool, resource, prompt… */
  readonly name?: string;
  /** The same for all that belongs to one call. */
  readonly id?: string;
  readonly [member: string]: unknown;
}

/** Something that was recorded: secrets are replaced, and what was too long is `{ digest, chars, head }`. */
export interface ActivityEntry extends Activity {
  /** Its number in the log, from 1. */
  readonly seq: number;
  /** When, as ISO 8601 in UTC. */
  readonly at: string;
}

/** Which entries to read; all that is said must hold. */
export interface ActivityQuery {
  readonly kinds?: readonly ActivityKind[];
  readonly server?: string;
  readonly name?: string;
  readonly id?: string;
  /** From this time on. */
  readonly since?: Date | string;
  /** Before this time. */
  readonly until?: Date | string;
  /** Anywhere in the entry, in any case. */
  readonly text?: string;
  readonly limit?: number;
  readonly newestFirst?: boolean;
}

/** Where a log stops being what was written. */
export interface ActivityDamage {
  /** The file or other part that it was found in. */
  readonly part: string;
  /** From 1. */
  readonly line: number;
}

/** What came out of checking a log. */
export type ActivityVerdict =
  | {
      readonly ok: true;
      readonly entries: number;
      readonly blocks: number;
      /** The last seal: whoever keeps it elsewhere can later prove that nothing before it was changed. */
      readonly head: string;
    }
  | {
      readonly ok: false;
      readonly at: ActivityDamage;
      readonly reason: string;
      /** A writer has ended in the middle of its last block: the next one will mend it. */
      readonly isTorn: boolean;
    };

/** What is done, and what the user has decided, for good: entries are added and never changed. */
export interface ActivityLog extends AsyncDisposable {
  /** Takes note and returns at once, whatever happens; `urgent` writes without waiting for more. */
  record(activity: Activity, options?: { readonly urgent?: boolean }): void;
  /** From now on, this text is a secret wherever it stands; less than 4 characters are none. */
  addSecret(secret: string): void;
  /** Throws "store-failed" while a log that is required cannot be written. */
  ready(): void;
  /** Entries that found no place; each gap is told by an entry, once the log can be written again. */
  readonly lost: number;
  /** Resolves when all that was recorded before is written; rejects when it cannot be. */
  flush(): Promise<void>;
  query(query?: ActivityQuery): AsyncIterable<ActivityEntry>;
  /** Reads the whole log; `contains` is the head of an earlier verdict that must be part of it. */
  verify(options?: { readonly contains?: string }): Promise<ActivityVerdict>;
  /** Writes what is left and releases the sink; rejects when something could not be written. */
  close(): Promise<void>;
}
