import type { ServerEntry, ServerSettings, Source } from "../options.ts";

/** How the text of a configuration file is written. */
export type ConfigFormat = "json" | "toml" | "yaml";

/** Whose a file is: an administrator's for all users, a project's, or a user's. */
export type ConfigScope = "managed" | "project" | "user";

/** Whom a file's servers are for; an administrator's win, then what is nearer wins over what is further away. */
export type ConfigLevel = ConfigScope | "local";

/** A value that a user has to give, as a file describes it. */
export interface ConfigInput {
  readonly id: string;
  readonly description?: string;
  /** Not to be shown while it is typed, nor kept in the clear. */
  readonly password?: boolean;
  /** The values to choose from. */
  readonly options?: readonly string[];
  readonly default?: string;
}

/** A client that is registered with the authorization server of an HTTP server. */
export interface ConfiguredOAuth {
  readonly clientId?: string;
  readonly clientSecret?: string;
  /** The port of this machine that it is registered to be sent back to. */
  readonly callbackPort?: number;
  /** The whole address that it is registered to be sent back to. */
  readonly redirectUri?: string;
  readonly scopes?: readonly string[];
}

/** A command as it is written, with its placeholders. */
export interface ConfiguredCommand {
  readonly command: string;
  readonly args?: readonly string[];
  readonly cwd?: string;
  readonly env?: { readonly [name: string]: string };
}

/** An address as it is written, with its placeholders. */
export interface ConfiguredHttp {
  readonly url: string;
  readonly headers?: { readonly [name: string]: string };
  readonly legacySse?: boolean;
}

export type ConfiguredTarget = ConfiguredCommand | ConfiguredHttp;

/** One server of a file before its variables are put in. */
export interface RawEntry {
  readonly name: string;
  readonly configured: ConfiguredTarget;
  readonly settings: ServerSettings;
  readonly source: Extract<Source, { kind: "file" }>;
  readonly level: ConfigLevel;
  /** A file with more environment variables, as it is written. */
  readonly envFile?: string;
  readonly oauth?: ConfiguredOAuth;
  readonly roots?: readonly string[];
  /** What the placeholders of this entry ask a user for. */
  readonly inputs: readonly ConfigInput[];
  /** What the file says that is not done, each a sentence. */
  readonly notes: readonly string[];
  /** What is wrong with it as it is written. */
  readonly problem?: string;
}

/** What an environment file held when it was read. */
export interface ReadEnvFile {
  /** As it is written. */
  readonly path: string;
  /** The names of its variables. */
  readonly names: readonly string[];
  /** SHA-256 of its text, so that a change of it is seen. */
  readonly digest: string;
}

/** An entry that came from a file, ready for a host. */
export interface ConfiguredServer extends ServerEntry {
  readonly configured: ConfiguredTarget;
  readonly source: Extract<Source, { kind: "file" }>;
  /** As it was read; `expandEntry` takes it again when there is more to put in, such as answers. */
  readonly raw: RawEntry;
  readonly envFile?: ReadEnvFile;
  /** With its variables put in. */
  readonly oauth?: ConfiguredOAuth;
  /** Entries of the same name in other files, which it takes the place of. */
  readonly hides?: readonly Source[];
  /** Another server whose name could be taken for this one. */
  readonly resembles?: string;
}

/** Whether an entry came from a file. */
export function isConfigured(entry: ServerEntry): entry is ConfiguredServer {
  return "raw" in entry;
}

/** The servers of one file. */
export interface ParsedConfig {
  readonly file: string;
  readonly product: string;
  readonly format: ConfigFormat;
  readonly servers: readonly RawEntry[];
  /** What the file says that is not done, each a sentence. */
  readonly notes: readonly string[];
}
