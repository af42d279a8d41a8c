import { PortolanError } from "portolan";
import { checkOptions, nameOf } from "portolan/internal";
import { checkBounds } from "../../options.ts";
import { maxSandboxApps } from "../limits.ts";
import { type AppGrant, policyOf } from "../sources.ts";
import { pageFor } from "./page.ts";

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
export interface SandboxResponse {
  writeHead(status: number, headers: { readonly [name: string]: string }): unknown;
  end(text: string): unknown;
}

/** Serves one static page, each app's with a policy of its own, for any HTTP server. */
export interface SandboxHandler {
  /** Makes a path for an app. The page at this path has the app's Content Security Policy as a header. */
  add(app: AppGrant): SandboxPage;
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
  const page = pageFor(hosts);
  /** The policies of the apps, by path. */
  const policies = new Map<string, string>();
  const answer = ({ method, path, header }: Asked): Answer => {
    const policy = policies.get(path);
    if (policy === undefined) return refuse(404, "Not found.");
    if (method !== "GET") return refuse(405, "Only GET is answered.");
    const host = header("host");
    const own = hosts.some((one) => new URL(one).host === host);
    if (host === undefined || own) return refuse(421, "The sandbox must have an origin of its own.");
    const why = problemOf(header, hosts);
    if (why !== undefined) return refuse(403, why);
    return { status: 200, headers: { ...headers, "content-security-policy": policy }, text: page };
  };
  return {
    add({ sources, permissions: _ }) {
      const path = `/app/${crypto.randomUUID()}${crypto.randomUUID()}`.replaceAll("-", "");
      policies.set(path, policyOf({ ...(sources && { sources }) }, hosts));
      if (policies.size > maxApps) {
        for (const oldest of policies.keys()) {
          policies.delete(oldest);
          break;
        }
      }
      return { path, remove: () => void policies.delete(path) };
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

function parseHosts(hosts: readonly string[]): readonly string[] {
  if (!Array.isArray(hosts) || hosts.length === 0) throw invalid(nameOf(hosts));
  return hosts.map((host: unknown) => {
    if (typeof host !== "string" || !URL.canParse(host)) throw invalid(nameOf(host));
    const { origin, protocol } = new URL(host);
    if (!["http:", "https:"].includes(protocol) || host.replace(/\/$/, "") !== origin) throw invalid(nameOf(host));
    return origin;
  });
}

function invalid(got: string): PortolanError {
  const message = `hosts: expected a list of origins such as "https://console.example.com", got ${got}`;
  return new PortolanError("invalid-argument", message);
}
