import type { IncomingMessage, ServerResponse } from "node:http";
import { sendPage } from "./browser.ts";
import { toFailureResponse } from "./failure.ts";
import type { Settings } from "./settings.ts";

/** A listener for `node:http` and for frameworks such as express. */
export type AuthorityListener = (request: IncomingMessage, response: ServerResponse, next?: () => void) => void;

export interface Routes {
  /** Handles all requests that the other routes do not. */
  provide(request: IncomingMessage, response: ServerResponse): Promise<void>;
  page(uid: string, request: IncomingMessage, response: ServerResponse): Promise<void>;
  callback?(query: URLSearchParams, request: IncomingMessage, response: ServerResponse): Promise<void>;
  /** Serves what is below `/connect/`. */
  connect?(path: string, query: URLSearchParams, request: IncomingMessage, response: ServerResponse): Promise<void>;
}

const wellKnown = /^\/\.well-known\/(oauth-authorization-server|openid-configuration)/;
/** Paths below the issuer that are served here; all others belong to the application. */
const ours =
  /^\/(authorize|token|register|revoke|introspect|jwks|callback|(authorize|page)\/[A-Za-z0-9_-]{1,100}|\.well-known\/(oauth-authorization-server|openid-configuration))$/;

const connectPath = /^\/connect\/[a-z][a-z0-9-]{0,39}(\/callback)?$/;

/** Routes a request: to a path below the issuer, or to the metadata at the root of the host (RFC 8414). */
export function createListener(
  settings: Settings,
  routes: Routes,
): { handle: AuthorityListener; close(): Promise<void> } {
  const { mount, isHttps } = settings;
  const underWay = new Set<Promise<void>>();
  let isClosed = false;

  function pathOf(url: string): string | undefined {
    const [path = "/"] = url.split("?", 1);
    const document = wellKnown.exec(path)?.[0];
    if (document !== undefined && path === `${document}${mount}`) return document;
    const below = path.startsWith(`${mount}/`) ? path.slice(mount.length) : "";
    return ours.test(below) || (routes.connect && connectPath.test(below)) ? below : undefined;
  }

  async function serve(request: IncomingMessage, response: ServerResponse, path: string, query: string): Promise<void> {
    // The issuer alone decides whether cookies are secure, whatever a proxy or an attacker sends.
    request.headers["x-forwarded-proto"] = isHttps ? "https" : "http";
    request.url = path + (query === "" ? "" : `?${query}`);
    if (isHttps) response.setHeader("strict-transport-security", "max-age=31536000");
    if (path.startsWith("/page/")) return routes.page(path.slice("/page/".length), request, response);
    if (path === "/callback" && routes.callback && request.method === "GET") {
      return routes.callback(new URLSearchParams(query), request, response);
    }
    if (path.startsWith("/connect/") && routes.connect) {
      return routes.connect(path.slice("/connect/".length), new URLSearchParams(query), request, response);
    }
    return routes.provide(request, response);
  }

  const handle: AuthorityListener = (request, response, next) => {
    const { originalUrl = request.url ?? "/" } = request as { originalUrl?: string };
    const path = pathOf(originalUrl);
    if (path === undefined) {
      if (next) return next();
      return void response.writeHead(404).end();
    }
    if (isClosed) return void response.writeHead(503, { connection: "close" }).end();
    const [, query = ""] = /^[^?]*\?(.*)$/s.exec(originalUrl) ?? [];
    const served = serve(request, response, path, query).catch((error) => {
      settings.reportError(error);
      if (response.headersSent) return void response.destroy();
      const { status, page, headers } = toFailureResponse(settings, error);
      sendPage(response, status, page, headers);
    });
    underWay.add(served);
    void served.finally(() => underWay.delete(served));
  };

  return {
    handle,
    async close() {
      isClosed = true;
      await Promise.all(underWay);
    },
  };
}
