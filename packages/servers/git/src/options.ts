/** What a server of repositories is told once. */
export interface GitOptions {
  /** The folders of the repositories; nothing outside them is read or written. */
  readonly repositories: readonly string[];
  /** Offers no tool that changes anything. */
  readonly readOnly?: boolean;
  /** Whether the user is asked before something is lost; true unless said otherwise. */
  readonly ask?: boolean;
  /** Who commits where the configuration of a repository names nobody; the user's own unless said otherwise. */
  readonly identity?: Identity;
  readonly limits?: Partial<GitLimits>;
}

/** The name and address that a commit is signed with. */
export interface Identity {
  readonly name: string;
  readonly email: string;
}

/** How much one call may give, take and last. */
export interface GitLimits {
  /** Of a patch or a file in an answer, in bytes; 262,144 unless said otherwise. */
  readonly maxBytes: number;
  /** Of files, branches, tags or conflicts in an answer; 1,000 unless said otherwise. */
  readonly maxEntries: number;
  /** Of commits on a page of the log; 200 unless said otherwise. */
  readonly maxCommits: number;
  /** Of lines in an answer of blame; 1,000 unless said otherwise. */
  readonly maxLines: number;
  /** Of one run of git; 30,000 unless said otherwise. */
  readonly timeoutMs: number;
}

/** The limits unless said otherwise. */
export const defaultLimits: GitLimits = {
  maxBytes: 256 * 1024,
  maxEntries: 1_000,
  maxCommits: 200,
  maxLines: 1_000,
  timeoutMs: 30_000,
};
