import type { IncomingMessage, ServerResponse } from "node:http";
import { sendPage } from "./browser.ts";
import { problemPage } from "./pages/messages.ts";
import type { Settings } from "./settings.ts";

/** A listener for `node:http` and for frameworks in the manner of connect. */
export type AuthorityListener = (request: IncomingMessage, response: ServerResponse, next?: () => void) => void;

export interface Doors {
  /** The provider itself. */
  provide(request: IncomingMessage, response: ServerResponse): Promise<void>;
  page(uid: string, request: IncomingMessage, response: ServerResponse): Promise<void>;
  callback?(query: URLSearchParams, request: IncomingMessage, response: ServerResponse): Promise<void>;
}

const wellKnown = /^\/\.well-known\/(oauth-authorization-server|openid-configuration)/;
/** What is served below the issuer; all else may belong to somebody else. */
const ours =
  /^\/(authorize|token|register|revoke|introspect|jwks|callback|(authorize|page)\/[A-Za-z0-9_-]{1,100}|\.well-known\/(oauth-authorization-server|openid-configuration))$/;

/** Finds what a request is for: below the path of the issuer, or metadata before it (RFC 8414). */
export function createListener(
  settings: Settings,
  doors: Doors,
): { handle: AuthorityListener; close(): Promise<void> } {
  const { mount, isHttps } = settings;
  const underWay = new Set<Promise<void>>();
  let isClosed = false;

  function pathOf(url: string): string | undefined {
    const [path = "/"] = url.split("?", 1);
    const document = wellKnown.exec(path)?.[0];
    if (document !== undefined && path === `${document}${mount}`) return document;
    const below = path.startsWith(`${mount}/`) ? path.slice(mount.length) : "";
    return ours.test(below) ? below : undefined;
  }

  async function serve(request: IncomingMessage, response: ServerResponse, path: string, query: string): Promise<void> {
    // Whether cookies are secure follows the issuer, whatever a proxy or an attacker says.
    request.headers["x-forwarded-proto"] = isHttps ? "https" : "http";
    request.url = path + (query === "" ? "" : `?${query}`);
    if (isHttps) response.setHeader("strict-transport-security", "max-age=31536000");
    if (path.startsWith("/page/")) return doors.page(path.slice("/page/".length), request, response);
    if (path === "/callback" && doors.callback && request.method === "GET") {
      return doors.callback(new URLSearchParams(query), request, response);
    }
    return doors.provide(request, response);
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
      settings.fail(error);
      if (response.headersSent) return void response.destroy();
      sendPage(response, 500, problemPage(settings.options.name, "The server has failed. Try again later."));
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
