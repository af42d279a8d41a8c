/** Options of `createGit`. */
export interface GitOptions {
  /** Folders of the repositories. Nothing outside them is read or written. */
  readonly repositories: readonly string[];
  /** Leaves out all tools that change anything. Default: false. */
  readonly readOnly?: boolean;
  /** Asks the user before data is lost. Default: true. */
  readonly ask?: boolean;
  /** Author of commits if the repository's configuration has none. Default: the user's global git configuration. */
  readonly identity?: Identity;
  readonly limits?: Partial<GitLimits>;
}

/** Name and e-mail address of an author. */
export interface Identity {
  readonly name: string;
  readonly email: string;
}

/** Limits of one call. */
export interface GitLimits {
  /** Bytes of a patch or file in a result. Default: 262,144. */
  readonly maxBytes: number;
  /** Files, branches, tags or conflicts in a result. Default: 1,000. */
  readonly maxEntries: number;
  /** Commits on a page of the log. Default: 200. */
  readonly maxCommits: number;
  /** Lines in a result of blame. Default: 1,000. */
  readonly maxLines: number;
  /** Time for one run of git. Default: 30,000. */
  readonly timeoutMs: number;
}

export const defaultLimits: GitLimits = {
  maxBytes: 256 * 1024,
  maxEntries: 1_000,
  maxCommits: 200,
  maxLines: 1_000,
  timeoutMs: 30_000,
};
