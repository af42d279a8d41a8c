import { Lazy } from "../../async.ts";
import type { Served } from "../define/server.ts";
import type { HttpHandler } from "./adapter.ts";
import { defaultPath, Endpoint } from "./endpoint.ts";
import { isSafeBinding } from "./guard.ts";
import { listenOn, type NodeListener, nodeListener } from "./node.ts";
import type { ServeHttpOptions } from "./options.ts";
import { sendError } from "./status.ts";

export type { BodyProblem, EventStream, HttpHandler, HttpHeaders, HttpReply, HttpRequest } from "./adapter.ts";
export type { NodeListener } from "./node.ts";
export type { HttpLimits, Refusal, ServeHttpOptions, SessionOptions, Verifier } from "./options.ts";

/** A server that is being served over HTTP. */
export interface HttpServing extends AsyncDisposable {
  /** For node:http, and for frameworks that hand on its two objects. */
  readonly node: NodeListener;
  /** For runtimes and frameworks of web-standard requests. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** Listens by itself, on loopback unless told otherwise; resolves to the address of the endpoint. */
  listen(port?: number, host?: string): Promise<{ readonly url: string; readonly port: number }>;
  /** Takes no more requests, lets what runs end, and releases everything. */
  close(graceMs?: number): Promise<void>;
}

/** Serves clients of every revision at one address. */
export function serveHttp(server: Served, options: ServeHttpOptions = {}): HttpServing {
  const endpoint = new Endpoint(server, options);
  const { limits = {}, path = defaultPath } = options;
  const fetches = new Lazy(async () => (await import("./fetch.ts")).fetchHandler(endpoint.handle, limits));
  const closers: ((graceMs?: number) => Promise<void>)[] = [];
  const close = async (graceMs?: number): Promise<void> => {
    await Promise.all([endpoint.close(graceMs), ...closers.splice(0).map((end) => end(graceMs))]);
  };
  return {
    node: nodeListener(endpoint.handle, limits),
    fetch: async (request) => (await fetches.get())(request),
    async listen(port = 0, host = "127.0.0.1") {
      if (!isSafeBinding(host, options)) throw (await import("./unsafe-binding.ts")).unsafeBinding(host);
      const listening = await listenOn(nodeListener(ownPathsOnly(endpoint), limits), { port, host, limits });
      closers.push((graceMs) => listening.close(graceMs));
      return { url: `${listening.url}${path}`, port: listening.port };
    },
    close,
    [Symbol.asyncDispose]: () => close(),
  };
}

/** A server that listens by itself has nothing anywhere else. */
function ownPathsOnly(endpoint: Endpoint): HttpHandler {
  return (request, reply) => {
    if (endpoint.owns(request.path)) endpoint.handle(request, reply);
    else sendError(reply, 404, { code: -32600, message: "Nothing is served at this path" });
  };
}
