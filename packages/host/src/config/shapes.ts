/** The names of one member of an entry, by any product; the first is the one that is written. */
export type Names = readonly string[];

/** How an entry of a file says what it says: member names, not code. */
export interface Shape {
  readonly command: Names;
  /** The command is a list with its arguments. */
  readonly commandIsList?: boolean;
  readonly args: Names;
  readonly env: Names;
  readonly cwd: Names;
  readonly envFile?: Names;
  readonly url: Names;
  /** Names of the address that say that it is not HTTP+SSE, or that it is. */
  readonly sseUrl?: Names;
  readonly headers: Names;
  /** Headers as lines, `Name: value`. */
  readonly headersAreLines?: boolean;
  /** The member whose members count too: `config` in `{ enabled, config: { cmd } }`. */
  readonly inside?: Names;
  readonly type: TypeNames;
  /** Written with its type even where that is plain. */
  readonly writesType?: boolean;
  readonly disabled?: Names;
  readonly enabled?: Names;
  /** Written whether it is or not. */
  readonly writesEnabled?: boolean;
  readonly only?: Names;
  readonly except?: Names;
  readonly connectMs?: Duration;
  readonly idleMs?: Duration;
  readonly era?: Names;
  readonly oauth?: Names;
  /** What a registered client's members are called, where not as in our own types. */
  readonly oauthNames?: { readonly [member: string]: string };
  readonly roots?: Names;
  /** Lists of variables that are handed on under their own names. */
  readonly passedOn?: Names;
  /** Headers whose values are names of variables. */
  readonly headerVariables?: Names;
  /** The name of the variable that holds a bearer token. */
  readonly bearerVariable?: Names;
  /** Questions for the values of an entry's placeholders, beside those of the file. */
  readonly questions?: Names;
  /** Members that are not done, and why. */
  readonly ignored?: { readonly [member: string]: string };
  /** Members that make the entry unusable here, and why. */
  readonly refused?: { readonly [member: string]: string };
}

export interface TypeNames {
  readonly member: Names;
  readonly command: Names;
  readonly http: Names;
  readonly sse: Names;
  /** Types that no other host can start, and why. */
  readonly foreign?: { readonly [type: string]: string };
}

interface Duration {
  readonly names: Names;
  readonly unitMs: number;
}

const approval = "what may run without a question is decided here, not in this file";
const helper = "commands in configuration files are not run; give the headers themselves";
const ms = (...names: string[]): Duration => ({ names, unitMs: 1 });
const seconds = (...names: string[]): Duration => ({ names, unitMs: 1_000 });

/** What `.mcp.json` and most others share. */
const portable: Shape = {
  command: ["command"],
  args: ["args"],
  env: ["env"],
  cwd: ["cwd"],
  envFile: ["envFile"],
  url: ["url", "serverUrl", "httpUrl"],
  headers: ["headers"],
  type: {
    member: ["type", "transport", "transportType"],
    command: ["stdio", "local"],
    http: ["http", "streamable-http", "streamableHttp", "streamable_http", "remote"],
    sse: ["sse"],
  },
  writesType: true,
  disabled: ["disabled"],
  enabled: ["enabled"],
  only: ["includeTools"],
  except: ["excludeTools"],
  connectMs: ms("connectionTimeout"),
  idleMs: ms("timeout"),
  era: ["protocolEra"],
  oauth: ["oauth", "auth"],
  roots: ["roots"],
  ignored: { autoApprove: approval, alwaysAllow: approval, trust: approval },
  refused: { headersHelper: helper },
};

type Family =
  | "portable"
  | "plain"
  | "cursor"
  | "copilot"
  | "cline"
  | "kiro"
  | "windsurf"
  | "gemini"
  | "codex"
  | "goose"
  | "zed"
  | "opencode"
  | "mcphost"
  | "inspector"
  | "librechat"
  | "continue";

/** How each family of products writes an entry. */
export const shapes: Readonly<Record<Family, Shape>> = {
  portable,
  plain: { ...portable, writesType: false },
  cursor: {
    ...portable,
    writesType: false,
    oauth: ["auth", "oauth"],
    oauthNames: { clientId: "CLIENT_ID", clientSecret: "CLIENT_SECRET" },
  },
  copilot: { ...portable, type: { ...portable.type, command: ["local", "stdio"] }, only: ["tools"] },
  cline: {
    ...portable,
    type: { ...portable.type, http: ["streamableHttp", "http", "streamable-http"] },
    idleMs: seconds("timeout"),
  },
  kiro: { ...portable, writesType: false, except: ["disabledTools"] },
  windsurf: { ...portable, writesType: false, url: ["serverUrl", "url"], except: ["disabledTools"] },
  gemini: {
    ...portable,
    writesType: false,
    url: ["httpUrl", "url"],
    sseUrl: ["url"],
    refused: { ...portable.refused, tcp: "servers on a bare TCP port are not spoken to" },
  },
  codex: {
    command: ["command"],
    args: ["args"],
    env: ["env"],
    cwd: ["cwd"],
    url: ["url"],
    headers: ["http_headers"],
    type: { member: [], command: [], http: [], sse: [] },
    enabled: ["enabled"],
    only: ["enabled_tools"],
    except: ["disabled_tools"],
    connectMs: seconds("startup_timeout_sec"),
    idleMs: seconds("tool_timeout_sec"),
    passedOn: ["env_vars"],
    headerVariables: ["env_http_headers"],
    bearerVariable: ["bearer_token_env_var"],
    ignored: { default_tools_approval_mode: approval },
    refused: { bearer_token: "a token may not stand in this file; name its variable in bearer_token_env_var" },
  },
  goose: {
    command: ["cmd"],
    args: ["args"],
    env: ["envs"],
    cwd: ["cwd"],
    url: ["uri"],
    headers: ["headers"],
    inside: ["config"],
    type: {
      member: ["type"],
      command: ["stdio"],
      http: ["streamable_http"],
      sse: ["sse"],
      foreign: {
        builtin: "it is a part of goose",
        platform: "it is a part of goose",
        frontend: "it is a part of goose",
        inline_python: "only goose runs programs that stand in its file",
      },
    },
    writesType: true,
    enabled: ["enabled"],
    writesEnabled: true,
    only: ["available_tools"],
    idleMs: seconds("timeout"),
    passedOn: ["env_keys"],
  },
  zed: {
    ...portable,
    command: ["command", "path"],
    inside: ["command"],
    type: {
      member: ["source"],
      command: ["custom"],
      http: ["custom"],
      sse: [],
      foreign: { extension: "an extension of Zed starts it" },
    },
  },
  opencode: {
    ...portable,
    commandIsList: true,
    args: [],
    env: ["environment"],
    type: { ...portable.type, command: ["local"], http: ["remote"] },
    disabled: [],
  },
  mcphost: {
    ...portable,
    commandIsList: true,
    env: ["environment", "env"],
    headersAreLines: true,
    type: {
      ...portable.type,
      command: ["local", "stdio"],
      http: ["remote", "http", "streamable"],
      foreign: { builtin: "it is a part of mcphost", inprocess: "it is a part of mcphost" },
    },
    only: ["allowedTools"],
    except: ["excludedTools"],
  },
  inspector: {
    ...portable,
    type: { ...portable.type, http: ["streamable-http", "http"] },
    idleMs: ms("requestTimeout", "timeout"),
  },
  librechat: {
    ...portable,
    type: { ...portable.type, http: ["streamable-http", "http"] },
    connectMs: ms("initTimeout"),
    questions: ["customUserVars"],
  },
  continue: {
    ...portable,
    writesType: false,
    inside: ["requestOptions"],
    type: { ...portable.type, http: ["streamable-http", "http"] },
  },
};
