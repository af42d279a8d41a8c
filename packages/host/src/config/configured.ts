import type { EntrySource, ServerEntry, ServerSettings } from "../options.ts";

/** The syntax of a configuration file. */
export type ConfigFormat = "json" | "toml" | "yaml";

/** The owner of a file: an administrator (for all users), a project, or a user. */
export type ConfigScope = "managed" | "project" | "user";

/** The precedence of a server: managed, then local (one user in one project), then project, then user. */
export type ConfigLevel = ConfigScope | "local";

/** A value that a file asks the user for. */
export interface ConfigInput {
  readonly id: string;
  readonly description?: string;
  /** Hide it while it is typed, and do not store it in plain text. */
  readonly password?: boolean;
  /** The allowed values. */
  readonly options?: readonly string[];
  readonly default?: string;
}

/** An OAuth client that is registered at the authorization server of an HTTP server. */
export interface ConfiguredOAuth {
  readonly clientId?: string;
  readonly clientSecret?: string;
  /** The local port of its registered redirect URI. */
  readonly callbackPort?: number;
  /** Its registered redirect URI. */
  readonly redirectUri?: string;
  readonly scopes?: readonly string[];
}

/** A command as it stands in the file, with its placeholders. */
export interface ConfiguredCommand {
  readonly command: string;
  readonly args?: readonly string[];
  readonly cwd?: string;
  readonly env?: { readonly [name: string]: string };
}

/** A URL as it stands in the file, with its placeholders. */
export interface ConfiguredHttp {
  readonly url: string;
  readonly headers?: { readonly [name: string]: string };
  readonly legacySse?: boolean;
}

/** A server as a configuration file names it: a program to start, or an address. */
export type ConfiguredTarget = ConfiguredCommand | ConfiguredHttp;

/** One server of a file before its placeholders are replaced. */
export interface RawEntry {
  readonly name: string;
  readonly configured: ConfiguredTarget;
  readonly settings: ServerSettings;
  readonly source: Extract<EntrySource, { kind: "file" }>;
  readonly level: ConfigLevel;
  /** The path of a file with more environment variables, with its placeholders. */
  readonly envFile?: string;
  readonly oauth?: ConfiguredOAuth;
  readonly roots?: readonly string[];
  /** The inputs that the placeholders of this entry refer to. */
  readonly inputs: readonly ConfigInput[];
  /** Members of the entry that have no effect here, one sentence each. */
  readonly notes: readonly string[];
  /** The first error in the entry. A server with a problem is not started. */
  readonly problem?: string;
}

/** An environment file that was read, without the values of its variables. */
export interface LoadedEnvFile {
  /** The path as it stands in the configuration file. */
  readonly path: string;
  /** The names of its variables. */
  readonly names: readonly string[];
  /** SHA-256 of its text, so that a change is noticed. */
  readonly digest: string;
}

/** A value that an entry names and that is not known here. */
export interface MissingValue {
  readonly kind: "variable" | "input";
  /** The name of the variable of the environment, or the id of the input. */
  readonly name: string;
  readonly isSecret: boolean;
}

/** A server from a file, ready for a host. */
export interface ConfiguredServer extends ServerEntry {
  readonly configured: ConfiguredTarget;
  readonly source: Extract<EntrySource, { kind: "file" }>;
  /** The entry before its placeholders were replaced. Pass it to `expandEntry` again when more inputs are known. */
  readonly raw: RawEntry;
  readonly envFile?: LoadedEnvFile;
  /** The OAuth client with its placeholders replaced. */
  readonly oauth?: ConfiguredOAuth;
  /** Secrets that took the place of placeholders. Keep them out of messages and logs. */
  readonly secrets?: readonly string[];
  /** The values that are part of its problem because they are missing. */
  readonly missing?: readonly MissingValue[];
  /** Entries of the same name in other files that this one overrides. */
  readonly hides?: readonly EntrySource[];
  /** The name of another server that looks the same. */
  readonly resembles?: string;
}

/** Returns true if an entry comes from a file. */
export function isConfigured(entry: ServerEntry): entry is ConfiguredServer {
  return "raw" in entry;
}

/** The servers of one file. */
export interface ParsedConfig {
  readonly file: string;
  readonly product: string;
  readonly format: ConfigFormat;
  readonly servers: readonly RawEntry[];
  /** Parts of the file that have no effect here, one sentence each. */
  readonly notes: readonly string[];
}
