import { PortolanError } from "portolan";
import { checkOptions, nameOf } from "portolan/internal";
import { checkBounds } from "../../options.ts";
import { maxSandboxApps } from "../limits.ts";
import { type AppGrant, policyOf } from "../sources.ts";
import { framePageFor, pageFor } from "./page.ts";

/** Options of `sandboxHandler`. */
export interface SandboxOptions {
  /** Origins of the pages that show apps, such as "https://console.example.com". None may be the sandbox's own. */
  readonly hosts: readonly string[];
  /** Apps that are served at the same time; the oldest is forgotten first. Default: 1,000. */
  readonly maxApps?: number;
}

/** The page of an app in its sandbox. */
export interface SandboxPage {
  /** The path of the page on the sandbox's origin, unguessable: it names the app's policy. */
  readonly path: string;
  /** Forgets the app. */
  remove(): void;
}

/** The parts of a request and a response of `node:http` that the sandbox uses. */
export interface SandboxRequest {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly headers: { readonly [name: string]: string | readonly string[] | undefined };
}
/** The part of a response of `node:http` that the handler uses. */
export interface SandboxResponse {
  writeHead(status: number, headers: { readonly [name: string]: string }): unknown;
  end(text: string): unknown;
}

/**
 * The origins of an app that has one of its own, and so storage. Requests for both reach the handler. An origin belongs to
 * one app of one server, for one user: whatever document is shown on it reads what is stored there.
 */
export interface AppOrigins {
  /** The origin of the app, such as "https://3f2a.apps.example.net". */
  readonly app: string;
  /** The origin that the sandbox has for the page that shows it. */
  readonly sandbox: string;
}

/** Serves one static page, each app's with a policy of its own, for any HTTP server. */
export interface SandboxHandler {
  /**
   * Makes a path for an app. The page at this path has the app's Content Security Policy as a header. Default for `origins`:
   * the app has no origin.
   */
  add(app: AppGrant, origins?: AppOrigins): SandboxPage;
  /** Answers a request, for servers that speak fetch. */
  fetch(request: Request): Response;
  /** Answers a request of `node:http`. */
  node(request: SandboxRequest, response: SandboxResponse): void;
}

/**
 * Makes the sandbox of apps. Serve it on another origin than the pages that show apps, and nothing else beside it: an app
 * can do to this origin whatever a script of it can. Behind a proxy, the `Host` header must be the one of the browser.
 */
export function sandboxHandler(options: SandboxOptions): SandboxHandler {
  checkOptions(options, { hosts: 1, maxApps: 1 }, "sandboxHandler");
  const { maxApps = maxSandboxApps } = options;
  checkBounds("", { maxApps }, 1);
  const hosts = parseHosts(options.hosts);
  /** The pages of the apps, by path. */
  const apps = new Map<string, ServedPage>();
  /** The frames of apps that have an origin of their own, by path. */
  const frames = new Map<string, ServedPage>();
  const answer = ({ method, path, header }: Asked): Answer => {
    const page = apps.get(path) ?? frames.get(path);
    if (!page) return refuse(404, "Not found.");
    if (method !== "GET") return refuse(405, "Only GET is answered.");
    const host = header("host");
    if (host === undefined || hosts.some((one) => new URL(one).host === host) || host !== (page.host ?? host))
      return refuse(421, "The sandbox must have an origin of its own.");
    const why = problemOf(header, page.shownBy);
    if (why !== undefined) return refuse(403, why);
    return { status: 200, headers: { ...headers, "content-security-policy": page.policy }, text: page.text };
  };
  const forget = (path: string) => {
    const { frame } = apps.get(path) ?? {};
    apps.delete(path);
    if (frame !== undefined) frames.delete(frame);
  };
  return {
    add({ sources, permissions: _ }, origins) {
      const grant = { ...(sources && { sources }) };
      const path = `/app/${unguessable()}`;
      if (origins) {
        const { app, sandbox } = parseOrigins(origins, hosts);
        const frame = `/frame/${unguessable()}`;
        const [policy, text] = [policyOf(grant, hosts, [app]), pageFor(hosts, app + frame)];
        apps.set(path, { policy, text, shownBy: hosts, host: new URL(sandbox).host, frame });
        frames.set(frame, {
          policy: policyOf(grant, [sandbox, ...hosts]),
          text: framePageFor(sandbox),
          shownBy: [sandbox],
          host: new URL(app).host,
        });
      } else apps.set(path, { policy: policyOf(grant, hosts), text: pageFor(hosts, undefined), shownBy: hosts });
      for (const oldest of apps.size > maxApps ? apps.keys() : []) {
        forget(oldest);
        break;
      }
      return { path, remove: () => forget(path) };
    },
    fetch({ method, url, headers: given }) {
      const { pathname, host } = new URL(url);
      const header = (name: string) => (name === "host" ? (given.get("host") ?? host) : (given.get(name) ?? undefined));
      const { status, headers: own, text } = answer({ method, path: pathname, header });
      return new Response(text, { status, headers: own });
    },
    node({ method = "GET", url = "/", headers: given }, response) {
      const header = (name: string) => {
        const value = given[name];
        return typeof value === "string" ? value : undefined;
      };
      const [path = ""] = url.split("?", 1);
      const { status, headers: own, text } = answer({ method, path, header });
      response.writeHead(status, own);
      response.end(text);
    },
  };
}

/** A page that is served. */
interface ServedPage {
  readonly policy: string;
  readonly text: string;
  /** The origins of the pages that may show it. */
  readonly shownBy: readonly string[];
  /** The host under which alone it is served. Default: any but those of the pages that show apps. */
  readonly host?: string;
  /** The path of the frame that belongs to it. */
  readonly frame?: string;
}

interface Asked {
  readonly method: string;
  readonly path: string;
  /** Returns a header by its name in lower case. */
  readonly header: (name: string) => string | undefined;
}

interface Answer {
  readonly status: number;
  readonly headers: { readonly [name: string]: string };
  readonly text: string;
}

const common = {
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "x-dns-prefetch-control": "off",
};

const headers = {
  ...common,
  "content-type": "text/html; charset=utf-8",
  // The page is embedded from another site on purpose; a page that isolates itself could not embed it otherwise.
  "cross-origin-resource-policy": "cross-origin",
  "origin-agent-cluster": "?1",
};

function refuse(status: number, why: string): Answer {
  return { status, headers: { ...common, "content-type": "text/plain; charset=utf-8" }, text: `${why}\n` };
}

/** Returns why a page may not be served to this request: it is not framed, or by a page that is not known. */
function problemOf(header: Asked["header"], hosts: readonly string[]): string | undefined {
  const destination = header("sec-fetch-dest");
  if (destination !== undefined && destination !== "iframe") return "The sandbox works only in a frame.";
  if (header("sec-fetch-site") === "same-origin")
    return "The sandbox must not have the origin of the page that shows it.";
  const referrer = header("referer");
  const origin = referrer !== undefined && URL.canParse(referrer) ? new URL(referrer).origin : undefined;
  return origin !== undefined && hosts.includes(origin)
    ? undefined
    : "The sandbox does not know the page that shows it.";
}

function unguessable(): string {
  return `${crypto.randomUUID()}${crypto.randomUUID()}`.replaceAll("-", "");
}

function parseHosts(hosts: readonly string[]): readonly string[] {
  const expected = 'hosts: expected a list of origins such as "https://console.example.com"';
  if (!Array.isArray(hosts) || hosts.length === 0) throw invalid(`${expected}, got ${nameOf(hosts)}`);
  return hosts.map((host: unknown) => parseOrigin(host, expected));
}

function parseOrigins(origins: AppOrigins, hosts: readonly string[]): AppOrigins {
  checkOptions(origins, { app: 1, sandbox: 1 }, "add: origins");
  const parse = (name: keyof AppOrigins, example: string) =>
    parseOrigin(origins[name], `add: ${name}: expected an origin such as "${example}"`);
  const app = parse("app", "https://3f2a.apps.example.net");
  const sandbox = parse("sandbox", "https://apps.example.net");
  if (app === sandbox || hosts.includes(app) || hosts.includes(sandbox))
    throw invalid(`add: the app, its sandbox and the pages that show it need different origins, got ${app}`);
  return { app, sandbox };
}

function parseOrigin(value: unknown, expected: string): string {
  const wrong = () => invalid(`${expected}, got ${nameOf(value)}`);
  if (typeof value !== "string" || !URL.canParse(value)) throw wrong();
  const { origin, protocol } = new URL(value);
  if (!["http:", "https:"].includes(protocol) || value.replace(/\/$/, "") !== origin) throw wrong();
  return origin;
}

function invalid(message: string): PortolanError {
  return new PortolanError("invalid-argument", message);
}
