/** Where a chain of blocks stands. */
export interface ActivityHead {
  /** The last seal; empty before the first block. */
  readonly seal: string;
  /** The number of the last block, from 1; 0 before the first. */
  readonly block: number;
  /** The number of the last entry, from 1; 0 before the first. */
  readonly seq: number;
}

/** Some lines of a log as they were written, in the order of writing. */
export interface ActivityText {
  /** The file or other part that they are from. */
  readonly part: string;
  readonly text: string;
}

/** A log as it was at one moment. */
export interface ActivityReading {
  /** What the oldest text follows, where those before it were let go. */
  readonly base?: ActivityHead;
  /** The head as it is kept apart from the lines; `missing` and `unreadable` where there should be one. */
  readonly head?: ActivityHead | "missing" | "unreadable";
  /** Whole lines, except at the end of the last text; the latest text first where that was asked for. */
  readonly texts: AsyncIterable<ActivityText>;
}

/** Where a log is kept. */
export interface ActivitySink {
  /** Whether each block follows the one before it; otherwise writers that do not wait for each other may fork the chain. */
  readonly isLinear: boolean;
  /**
   * Adds what `build` makes of the present head; all of it is there when this resolves. After a rejection it is called
   * with the same entries again, which are not to be there twice.
   */
  append(build: (head: ActivityHead) => Promise<ActivityBlock>): Promise<void>;
  read(newestFirst: boolean): Promise<ActivityReading>;
  close(): Promise<void>;
}

/** Some entries and the seal behind them. */
export interface ActivityBlock {
  /** Lines of JSON in UTF-8. */
  readonly bytes: Uint8Array;
  readonly head: ActivityHead;
}

/** Before the first block. */
export const emptyHead: ActivityHead = { seal: "", block: 0, seq: 0 };
