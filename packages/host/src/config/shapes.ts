/** The names of one member in all products that share a shape. The first one is used for writing. */
export type Names = readonly string[];

/** The member names of a server entry in the files of one product. */
export interface Shape {
  readonly command: Names;
  /** The command is a list that includes its arguments. */
  readonly commandIsList?: boolean;
  readonly args: Names;
  readonly env: Names;
  readonly cwd: Names;
  readonly envFile?: Names;
  readonly url: Names;
  /** The name of the URL member for the HTTP+SSE transport, if it differs. */
  readonly sseUrl?: Names;
  readonly headers: Names;
  /** Headers are a list of lines: `Name: value`. */
  readonly headersAreLines?: boolean;
  /** An object whose members count as members of the entry: `config` in `{ enabled, config: { cmd } }`. */
  readonly nestedIn?: Names;
  readonly type: TypeNames;
  /** The type is always written. */
  readonly writesType?: boolean;
  readonly disabled?: Names;
  readonly enabled?: Names;
  /** `enabled` is always written. */
  readonly writesEnabled?: boolean;
  readonly only?: Names;
  readonly except?: Names;
  readonly connectMs?: Duration;
  readonly idleMs?: Duration;
  readonly era?: Names;
  readonly keepAlive?: Names;
  readonly oauth?: Names;
  /** The member names of an OAuth client that differ from our own. */
  readonly oauthNames?: { readonly [member: string]: string };
  readonly roots?: Names;
  /** A list of environment variables that the server inherits. */
  readonly forwardedEnv?: Names;
  /** Headers whose values come from environment variables. */
  readonly headerVariables?: Names;
  /** The environment variable with a bearer token. */
  readonly bearerVariable?: Names;
  /** Definitions of inputs in the entry itself. */
  readonly inputs?: Names;
  /** Members that have no effect here, with the reason. */
  readonly ignored?: { readonly [member: string]: string };
  /** Members that make the entry unusable here, with the reason. */
  readonly refused?: { readonly [member: string]: string };
}

export interface TypeNames {
  readonly member: Names;
  readonly command: Names;
  readonly http: Names;
  readonly sse: Names;
  /** Types that only the product itself can start, with the reason. */
  readonly unsupported?: { readonly [type: string]: string };
}

interface Duration {
  readonly names: Names;
  readonly unitMs: number;
}

const approval = "approval is decided by the policy of the host, not by this file";
const helper = "commands in configuration files are not run; write the headers instead";
const ms = (...names: string[]): Duration => ({ names, unitMs: 1 });
const seconds = (...names: string[]): Duration => ({ names, unitMs: 1_000 });

/** The member names of `.mcp.json`, which most products share. */
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
  keepAlive: ["keepAlive"],
  oauth: ["oauth", "auth"],
  roots: ["roots"],
  ignored: { autoApprove: approval, alwaysAllow: approval, trust: approval },
  refused: { headersHelper: helper },
};

type ShapeName =
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

/** The member names of each product or group of products. */
export const shapes: Readonly<Record<ShapeName, Shape>> = {
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
    refused: { ...portable.refused, tcp: "servers on a TCP port are not supported" },
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
    forwardedEnv: ["env_vars"],
    headerVariables: ["env_http_headers"],
    bearerVariable: ["bearer_token_env_var"],
    ignored: { default_tools_approval_mode: approval },
    refused: {
      bearer_token:
        "a token in this file is not accepted; put it into an environment variable and name that in bearer_token_env_var",
    },
  },
  goose: {
    command: ["cmd"],
    args: ["args"],
    env: ["envs"],
    cwd: ["cwd"],
    url: ["uri"],
    headers: ["headers"],
    nestedIn: ["config"],
    type: {
      member: ["type"],
      command: ["stdio"],
      http: ["streamable_http"],
      sse: ["sse"],
      unsupported: {
        builtin: "it is part of goose",
        platform: "it is part of goose",
        frontend: "it is part of goose",
        inline_python: "only goose runs code that stands in its file",
      },
    },
    writesType: true,
    enabled: ["enabled"],
    writesEnabled: true,
    only: ["available_tools"],
    idleMs: seconds("timeout"),
    forwardedEnv: ["env_keys"],
  },
  zed: {
    ...portable,
    command: ["command", "path"],
    nestedIn: ["command"],
    type: {
      member: ["source"],
      command: ["custom"],
      http: ["custom"],
      sse: [],
      unsupported: { extension: "an extension of Zed starts it" },
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
      unsupported: { builtin: "it is part of mcphost", inprocess: "it is part of mcphost" },
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
    inputs: ["customUserVars"],
  },
  continue: {
    ...portable,
    writesType: false,
    nestedIn: ["requestOptions"],
    type: { ...portable.type, http: ["streamable-http", "http"] },
  },
};
