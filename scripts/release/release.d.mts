export interface ReleaseOptions {
  /** Publishes nothing. Default: false. */
  readonly dryRun?: boolean;
  /** Passes `--provenance` to npm. Default: false. */
  readonly provenance?: boolean;
  /** Builds the packages; resolves to the reason if it fails. Default: the packages are built already. */
  readonly build?: () => Promise<string | undefined>;
  /** The folder for the tarballs, which is emptied. Default: `dist/release`. */
  readonly out?: string;
  /** Default: `release.json`. */
  readonly valuesFile?: string;
  /** Default: `CHANGELOG.md`. */
  readonly changelogFile?: string;
  /** The environment of npm. Default: `process.env`. */
  readonly env?: NodeJS.ProcessEnv;
  /** Default: `console.log`. */
  readonly print?: (text: string) => void;
}

/** Resolves to the exit code. */
export function release(root: string, options: ReleaseOptions): Promise<number>;
