import type { JsonObject } from "portolan";
import { MessageRedactor, redactedMark } from "./redact.ts";
import {
  jsonExpression,
  plainText,
  shellWord,
  splitJson,
  splitTapped,
  splitText,
  splitUrl,
  type TextPart,
  textExpression,
} from "./secret-parts.ts";

/** The forms in which a request can be copied. */
export type CallForm = "curl" | "command" | "typescript" | "json";

/** A request, and how its server is reached. */
export interface CallToRender {
  /** The request as it was sent. */
  readonly text: string;
  readonly target: RenderedTarget;
  /** The name by which the command knows the server. Default: the command or the address of `target`. */
  readonly server?: string;
  /** The revision that was spoken. */
  readonly revision?: string;
}

/** A server, with its secrets masked or not: no value of a variable is rendered, and headers without their secrets. */
export type RenderedTarget =
  | { readonly command: string; readonly args?: readonly string[]; readonly variables?: readonly string[] }
  | { readonly url: string; readonly headers?: { readonly [name: string]: string } };

export interface RenderOptions {
  /** Knows more secrets than those that can be recognized. */
  readonly redactor?: MessageRedactor;
}

/**
 * Writes a request as a line for a shell, or as a program. Secrets are variables: `$NAME` in a shell, `process.env` in
 * TypeScript. In `json` they are `$NAME`, too, and everything else is as it was sent.
 */
export function renderCall(call: CallToRender, as: CallForm, { redactor }: RenderOptions = {}): string {
  const parts = splitJson(call.text, redactor);
  if (as === "json") return plainText(parts);
  if (as === "curl") return "url" in call.target ? curl(call, call.target, parts) : pipe(call, call.target, parts);
  return as === "command" ? commandLine(call, redactor) : program(call, redactor);
}

interface Request {
  readonly method: string;
  readonly params: JsonObject;
}

function requestOf(text: string): Request {
  try {
    const { method, params } = JSON.parse(text) as Partial<Request>;
    return { method: String(method), params: typeof params === "object" && params !== null ? params : {} };
  } catch {
    return { method: "", params: {} };
  }
}

const newLine = " \\\n  ";

function curl(
  { text, revision }: CallToRender,
  { url, headers = {} }: Extract<RenderedTarget, { url: string }>,
  body: readonly TextPart[],
): string {
  const own = Object.entries(headers).map(([name, value]): [string, string] => [name.toLowerCase(), value]);
  const given = new Map<string, string>([
    ["content-type", "application/json"],
    ["accept", "application/json, text/event-stream"],
    ...own.filter(([name]) => !/^(?:content-length|host|connection|user-agent|accept-encoding)$/.test(name)),
  ]);
  if (revision !== undefined && !isFirst(text) && !given.has("mcp-protocol-version")) {
    given.set("mcp-protocol-version", revision);
  }
  const lines = [...given].map(([name, value]) => {
    // A session is no secret of the person, but it is over when the line is used.
    const parts = name === "mcp-session-id" ? [{ variable: "MCP_SESSION_ID" }] : headerParts(name, value);
    return `-H ${shellWord([`${name}: `, ...parts])}`;
  });
  const line = [`curl -gsS -N ${shellWord(splitUrl(url))}`, ...lines, `--data-raw ${shellWord(body)}`].join(newLine);
  const note = given.has("mcp-session-id")
    ? "# MCP_SESSION_ID: the header of that name in the response to initialize\n"
    : "";
  return note + line;
}

/** The handshake has no revision in its headers: it agrees on one. */
function isFirst(text: string): boolean {
  return requestOf(text).method === "initialize";
}

function headerParts(name: string, value: string): readonly TextPart[] {
  const [, scheme = "", credentials] = /^((?:bearer|basic|dpop|token) )?(.*)$/is.exec(value) ?? [];
  const isSecret = /authorization|cookie|key|token|secret|dpop|password/i.test(name);
  return isSecret && credentials ? [scheme, ...splitText(redactedMark, name)] : splitTapped(value, name);
}

/** Writes a request to a command: its handshake, then the request. `cat` keeps the input open until Ctrl-D. */
function pipe(
  { text, revision = "2025-11-25" }: CallToRender,
  { command, args = [], variables = [] }: Extract<RenderedTarget, { command: string }>,
  body: readonly TextPart[],
): string {
  const clientInfo = { name: "shell", version: "1" };
  const params = { protocolVersion: revision, capabilities: {}, clientInfo };
  const handshake =
    isStateless(text) || isFirst(text)
      ? []
      : [
          JSON.stringify({ jsonrpc: "2.0", id: "handshake", method: "initialize", params }),
          JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" }),
        ];
  const words = [...handshake.map((line) => shellWord([line])), shellWord(body)];
  const env = variables.map((name) => `${name}="$${name}" `).join("");
  const server = wordsOf(command, args).map(shellWord).join(" ");
  return `{ printf '%s\\n'${newLine}${words.join(newLine)}; cat; } | ${env}${server}`;
}

/** Returns the words of a command, split at their secrets. */
function wordsOf(command: string, args: readonly string[]): (readonly TextPart[])[] {
  const words = new MessageRedactor().redact([command, ...args]) as readonly string[];
  return words.map((word, at) => splitText(word, words[at - 1]?.startsWith("-") ? (words[at - 1] ?? "") : "secret"));
}

/** True if the request names its revision itself. */
function isStateless(text: string): boolean {
  const meta = requestOf(text).params["_meta"];
  return typeof meta === "object" && meta !== null && "io.modelcontextprotocol/protocolVersion" in meta;
}

function commandLine({ text, target, server }: CallToRender, redactor: MessageRedactor | undefined): string {
  const { method, params } = requestOf(text);
  const words = wordsFor(method, params, text, redactor);
  if (!words) return `# The command cannot send ${JSON.stringify(method)}.`;
  const [verb, ...rest] = words;
  const { before, after } = targetWords(target, server);
  return [`portolan ${verb}`, ...before, ...rest, ...after].join(" ");
}

/** Returns the words that name a server: before the rest, or after it. */
function targetWords(target: RenderedTarget, server: string | undefined): { before: string[]; after: string[] } {
  if (server !== undefined) return { before: [shellWord([server])], after: [] };
  if ("url" in target) {
    const headers = Object.entries(target.headers ?? {})
      .filter(([name]) => !/^(?:accept|content-type|mcp-.*|content-length|host|user-agent)$/i.test(name))
      .map(([name, value]) => `--header ${shellWord([`${name}=`, ...headerParts(name, value)])}`);
    return { before: [shellWord(splitUrl(target.url)), ...headers], after: [] };
  }
  const { command, args = [], variables = [] } = target;
  const words = wordsOf(command, args).map(shellWord);
  return { before: variables.map((name) => `--env ${shellWord([name])}`), after: ["--", ...words] };
}

/** Returns the words of the command for a request, the server apart. */
function wordsFor(
  method: string,
  params: JsonObject,
  text: string,
  redactor: MessageRedactor | undefined,
): readonly [verb: string, ...words: string[]] | undefined {
  const word = (value: unknown) => shellWord([String(value)]);
  const pairs = (values: unknown) =>
    Object.entries((values ?? {}) as JsonObject).map(([name, value]) => word(`${name}=${value}`));
  switch (method) {
    case "tools/call":
      return ["call", word(params["name"]), shellWord(splitJson(memberText(text, "arguments") ?? "{}", redactor))];
    case "resources/read":
      return ["read", shellWord(splitUrl(String(params["uri"])))];
    case "prompts/get":
      return ["prompt", word(params["name"]), ...pairs(params["arguments"])];
    case "completion/complete": {
      const { ref = {}, argument = {}, context = {} } = params as { [name: string]: JsonObject };
      const known = pairs(context["arguments"]);
      return ["complete", word(ref["name"] ?? ref["uri"]), word(argument["name"]), word(argument["value"]), ...known];
    }
    case "tools/list":
    case "prompts/list":
    case "resources/list":
    case "resources/templates/list":
      return ["ls"];
    default:
      return undefined;
  }
}

/** Returns the text of a member of `params`, with all its digits. */
function memberText(text: string, name: string): string | undefined {
  return topLevelMember(topLevelMember(text, "params") ?? "", name);
}

/** Returns the text of a member of a JSON object. */
export function topLevelMember(text: string, name: string): string | undefined {
  const token = /"(?:[^"\\]|\\.)*"|[{}[\],:]/g;
  let depth = 0;
  let key: string | undefined;
  let found: string | undefined;
  let start = -1;
  for (let match = token.exec(text); match; match = token.exec(text)) {
    const [sign] = match;
    const isEnd = depth === 1 && (sign === "," || sign === "}");
    // Of two members with one name the last one counts, as for every reader of JSON.
    if (isEnd && start >= 0) found = text.slice(start, match.index).trim();
    if (isEnd) start = -1;
    if (sign === "{" || sign === "[") depth += 1;
    else if (sign === "}" || sign === "]") depth -= 1;
    else if (depth === 1 && sign === ":" && start < 0) {
      if (key === name) start = token.lastIndex;
    } else if (depth === 1 && sign.startsWith('"') && start < 0) key = JSON.parse(sign) as string;
  }
  return found;
}

function program({ text, target, revision }: CallToRender, redactor: MessageRedactor | undefined): string {
  const { method, params } = requestOf(text);
  const imports = [`import { connect } from "portolan/client";`];
  const options = revision === undefined ? "" : `, { era: ${JSON.stringify(revision)} }`;
  const json = (name: string) => jsonExpression(splitJson(memberText(text, name) ?? "{}", redactor));
  const name = textExpression([String(params["name"])]);
  const call =
    method === "tools/call"
      ? `callTool(${name}, ${json("arguments")})`
      : method === "resources/read"
        ? `readResource(${textExpression(splitUrl(String(params["uri"])))})`
        : method === "prompts/get"
          ? `getPrompt(${name}, ${json("arguments")})`
          : `request(${textExpression([method])}, ${jsonExpression(splitJson(withoutMeta(text), redactor))})`;
  let server: string;
  if ("url" in target) {
    const own = Object.entries(target.headers ?? {}).filter(
      ([header]) => !/^(?:accept|content-type|mcp-.*|content-length|host|user-agent)$/i.test(header),
    );
    const headers = own.map(
      ([header, value]) => `${JSON.stringify(header)}: ${textExpression(headerParts(header, value))}`,
    );
    const url = textExpression(splitUrl(target.url));
    if (headers.length > 0) imports.push(`import { http } from "portolan/client/http";`);
    server = headers.length > 0 ? `http(${url}, { headers: { ${headers.join(", ")} } })` : url;
  } else {
    const { command, args = [], variables = [] } = target;
    const words = wordsOf(command, args).slice(1).map(textExpression).join(", ");
    const env = variables.map(
      (variable) => `${JSON.stringify(variable)}: process.env[${JSON.stringify(variable)}] ?? ""`,
    );
    const members = [`command: ${textExpression([command])}`, `args: [${words}]`];
    if (env.length > 0) members.push(`env: { ${env.join(", ")} }`);
    server = `{ ${members.join(", ")} }`;
  }
  return `${imports.join("\n")}

const client = await connect(${server}${options});
try {
  console.log(JSON.stringify(await client.${call}, undefined, 2));
} finally {
  await client.close();
}
`;
}

/** Returns the params of a request without what the client adds itself. */
function withoutMeta(text: string): string {
  const params = topLevelMember(text, "params") ?? "{}";
  if (topLevelMember(params, "_meta") === undefined) return params;
  const { _meta: _, ...rest } = requestOf(text).params;
  return JSON.stringify(rest);
}
