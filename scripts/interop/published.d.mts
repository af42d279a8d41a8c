/** A published server to try. */
export interface PublishedServer {
  readonly package: string;
  readonly version: string;
  /** The command of the package. Default: its first one. */
  readonly bin?: string;
  /** Arguments; `{folder}` stands for an empty folder. */
  readonly args?: readonly string[];
  /** A call that changes nothing and needs no network. */
  readonly call?: { readonly tool: string; readonly arguments?: object };
}

/** The result of one step: nothing if the server has nothing for it. */
export interface StepResult {
  readonly ok?: true;
  readonly why?: string;
}

export interface PublishedRow {
  readonly package: string;
  readonly version: string;
  readonly revision: string;
  readonly tools: string;
  readonly ls: StepResult;
  readonly call: StepResult;
  readonly "served ls": StepResult;
  readonly "served call": StepResult;
}

export declare function readList(): PublishedServer[];
export declare function runPublished(only: string | undefined): Promise<number>;
export declare function toPublishedTable(rows: readonly PublishedRow[]): {
  readonly heading: readonly string[];
  readonly lines: readonly (readonly string[])[];
  readonly reasons: readonly string[];
};
