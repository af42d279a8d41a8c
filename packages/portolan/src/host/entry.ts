import type { Link } from "../client/channel-link.ts";
import type { HttpAuth, HttpHeaders } from "../client/http/options.ts";
import type { EraPolicy } from "../client/options.ts";
import type { Channel } from "../jsonrpc/channel.ts";

/** A server to start as a child process. */
export interface CommandWay {
  readonly command: string;
  readonly args?: readonly string[];
  readonly cwd?: string;
  /** Given to the child beside the few variables every program needs. */
  readonly env?: { readonly [name: string]: string };
  /** How long each step of its shutdown may take: end of input, SIGTERM, SIGKILL. 2 s unless said. */
  readonly graceMs?: number;
}

/** A server to reach over the network. */
export interface HttpWay {
  readonly url: string;
  readonly headers?: HttpHeaders;
  readonly auth?: HttpAuth;
  /** `true` speaks HTTP+SSE from the start; it is found out unless said. */
  readonly legacySse?: boolean;
}

/** A server that the application reaches in its own way; called again when the connection was lost. */
export interface OpenWay {
  readonly open: () => Link | Channel | Promise<Link | Channel>;
}

/** How a server is reached. */
export type Way = CommandWay | HttpWay | OpenWay;

/** What a host may say about a server, however it is reached. */
export interface ServerSettings {
  /** Known, but never started. */
  readonly disabled?: boolean;
  /** Whether its hints about its tools (read-only, destructive…) count; by default those of servers named in code do. */
  readonly trustHints?: boolean;
  /** Whether its results may be taken at their word: what others could have written there must not be. */
  readonly trustContent?: boolean;
  /** Names of its tools, `*` for any characters: only these are visible to models. */
  readonly only?: readonly string[];
  /** Names of its tools, `*` for any characters: these are not visible to models. */
  readonly except?: readonly string[];
  readonly era?: EraPolicy;
  /** How long it may take to connect; 60 s unless said. */
  readonly connectMs?: number;
  /** How long a call may be silent; 60 s unless said. */
  readonly idleMs?: number;
  /** Started with the host instead of when it is first needed. */
  readonly eager?: boolean;
}

/** Where an entry was written. */
export type Source =
  /** Named by the application itself. */
  | { readonly kind: "code" }
  | {
      readonly kind: "file";
      readonly file: string;
      /** Where in the file: `mcpServers.files`. */
      readonly path: string;
      /** Whose convention the file follows: `claude-code`, `vscode`, `cursor`… */
      readonly product: string;
      /** A project brings its file along with what others wrote; a user's file is the user's own. */
      readonly scope: "project" | "user";
    };

/** One server as a host knows it: how it is reached, and who said so. */
export interface ServerEntry {
  /** What the user calls it; once in a host. */
  readonly name: string;
  readonly way: Way;
  readonly settings: ServerSettings;
  readonly source: Source;
  /** What exactly was written, before variables were put in: what a trust decision is bound to. */
  readonly written: Way;
  /** Why it cannot be started as it is; such an entry is shown, never started. */
  readonly problem?: string;
}
