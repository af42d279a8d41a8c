import type { MaybePromise } from "../../async.ts";
import { nameOf, PortolanError } from "../../errors.ts";
import { checkOptions } from "../../options.ts";
import type { Meta, ResourceContents } from "../../protocol/types/index.ts";

/** The id of the extension MCP Apps. */
export const appsId = "io.modelcontextprotocol/ui";

/** The media type of an app. */
export const appMimeType = "text/html;profile=mcp-app";

/** Something of the browser that an app asks for. */
export type AppPermission = "camera" | "microphone" | "geolocation" | "clipboard-write";

/** The origins that an app may reach. Default: none. */
export interface AppDomains {
  /** Origins that the app connects to, such as "https://api.example.com". */
  readonly connect?: readonly string[];
  /** Origins of its scripts, styles, images, fonts and media. */
  readonly resources?: readonly string[];
  /** Origins of the frames inside it. */
  readonly frames?: readonly string[];
  /** Origins that its `<base>` may name. */
  readonly base?: readonly string[];
}

/** Options of `app`. */
export interface AppOptions {
  /** The HTML document: its text, the URL of a file that is read for each request, or a function that returns the text. */
  readonly html: string | URL | (() => MaybePromise<string>);
  /** A name for people. */
  readonly title?: string;
  /** What the app shows. */
  readonly description?: string;
  /** The origins that the app may reach. Default: none. */
  readonly csp?: AppDomains;
  /** Permissions that the app needs of the browser. Default: none. */
  readonly permissions?: readonly AppPermission[];
  /** True if the host should draw a border around the app. Default: the host decides. */
  readonly border?: boolean;
}

/** An app: an HTML document that a host shows with the results of tools. */
export interface App {
  readonly uri: string;
  readonly title: string | undefined;
  readonly description: string | undefined;
  /** Returns the document as a client reads it. */
  read(): Promise<ResourceContents>;
}

/** The app of a tool. `for` names who may call the tool: the model, the app itself, or both. Default: both. */
export type ToolUi = App | { readonly app: App; readonly for?: readonly ("model" | "app")[] };

/** Defines an app. Its URI begins with "ui://". */
export function app(uri: string, options: AppOptions): App {
  const where = `app("${uri}")`;
  if (typeof uri !== "string" || !/^ui:\/\/[^\s]+$/.test(uri)) {
    throw invalid("app", `expected a URI that begins with ui://, got ${nameOf(uri)}`);
  }
  checkOptions(options, { html: 1, title: 1, description: 1, csp: 1, permissions: 1, border: 1 }, where, { code });
  const { html, title, description, csp, permissions, border } = options;
  if (typeof html === "string") checkDocument(where, html);
  else if (typeof html !== "function" && !(html instanceof URL)) {
    throw invalid(where, `html: expected a text, the URL of a file or a function, got ${nameOf(html)}`);
  }
  const ui = {
    ...(csp && { csp: toDomains(where, csp) }),
    ...(permissions && { permissions: toPermissions(where, permissions) }),
    ...(border !== undefined && { prefersBorder: border }),
  };
  const _meta: Meta | undefined = Object.keys(ui).length > 0 ? { ui } : undefined;
  return {
    uri,
    title,
    description,
    async read() {
      const text = await textOf(html);
      checkDocument(where, text);
      return { uri, mimeType: appMimeType, text, ...(_meta && { _meta }) };
    },
  };
}

const code = "invalid-definition";

export function invalid(where: string, why: string): PortolanError {
  return new PortolanError(code, `${where}: ${why}`);
}

async function textOf(html: AppOptions["html"]): Promise<string> {
  if (typeof html === "string") return html;
  if (typeof html === "function") return html();
  const { readText } = await import("#app-file");
  return readText(html);
}

function checkDocument(where: string, html: unknown): void {
  if (typeof html === "string" && /^<(!doctype\s+html|html)[\s>]/i.test(withoutComments(html))) return;
  throw invalid(where, "html: expected an HTML document that begins with <!doctype html>");
}

/** Returns a document without the space and the comments at its beginning. A pattern could take exponential time. */
function withoutComments(html: string): string {
  let rest = html.trimStart();
  while (rest.startsWith("<!--")) {
    const end = rest.indexOf("-->", 4);
    if (end < 0) return "";
    rest = rest.slice(end + 3).trimStart();
  }
  return rest;
}

const domainNames = {
  connect: "connectDomains",
  resources: "resourceDomains",
  frames: "frameDomains",
  base: "baseUriDomains",
} as const;

/** A scheme, a host, which may begin with `*.`, and perhaps a port and a path. Nothing that could end a directive. */
const source = /^(https?|wss?):\/\/(\*\.)?[a-z0-9.-]+(:(\d+|\*))?(\/[\w./~%+-]*)?$/i;

function toDomains(where: string, csp: AppDomains): { [name: string]: readonly string[] } {
  checkOptions(csp, { connect: 1, resources: 1, frames: 1, base: 1 }, `${where}: csp`, { code });
  for (const [name, origins] of Object.entries(csp)) {
    const isList = Array.isArray(origins);
    const wrong = isList ? origins.find((origin) => typeof origin !== "string" || !source.test(origin)) : origins;
    if (isList && wrong === undefined) continue;
    throw invalid(where, `csp.${name}: expected origins such as "https://api.example.com", got ${nameOf(wrong)}`);
  }
  const given = Object.entries(csp) as [keyof AppDomains, readonly string[]][];
  return Object.fromEntries(given.map(([name, origins]) => [domainNames[name], [...origins]]));
}

const permissionNames: { readonly [P in AppPermission]: string } = {
  camera: "camera",
  microphone: "microphone",
  geolocation: "geolocation",
  "clipboard-write": "clipboardWrite",
};

function toPermissions(where: string, permissions: readonly AppPermission[]): { [name: string]: object } {
  const names = Object.keys(permissionNames);
  const wrong = permissions.find((permission) => !names.includes(permission));
  if (wrong !== undefined) {
    throw invalid(where, `permissions: expected some of ${names.join(", ")}, got ${nameOf(wrong)}`);
  }
  return Object.fromEntries(permissions.map((permission) => [permissionNames[permission], {}]));
}
