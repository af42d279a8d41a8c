import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream } from "node:stream/web";
import { onTestFinished } from "vitest";
import type { HttpHandler } from "../../packages/portolan/src/server/http/adapter.ts";
import { fetchHandler } from "../../packages/portolan/src/server/http/fetch.ts";
import { listenOn } from "../../packages/portolan/src/server/http/node/listen.ts";
import { nodeListener } from "../../packages/portolan/src/server/http/node.ts";
import type { HttpLimits } from "../../packages/portolan/src/server/http/options.ts";
import { RawHttp } from "./raw-http.ts";

/** Serves a handler through an adapter and resolves to the port. */
export type OpenAdapter = (handle: HttpHandler, limits?: HttpLimits) => Promise<number>;

export const openNode: OpenAdapter = async (handle, limits = {}) => {
  const listening = await listenOn(nodeListener(handle, limits), { port: 0, host: "127.0.0.1", limits });
  onTestFinished(() => listening.close(0));
  return listening.port;
};

export const openFetch: OpenAdapter = (handle, limits) => openListener(toListener(fetchHandler(handle, limits)));

export const adapters: { readonly [name: string]: OpenAdapter } = { node: openNode, fetch: openFetch };

/** Serves a listener as an application with its own `http.Server` does. */
export async function openListener(listener: RequestListener): Promise<number> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

export async function connectTo(port: number): Promise<RawHttp> {
  const raw = await RawHttp.open(port);
  onTestFinished(() => raw.destroy());
  return raw;
}

/** Turns a fetch handler into a node listener, as the adapters of web frameworks do. */
export function toListener(answer: (request: Request) => Promise<Response>) {
  return async (req: IncomingMessage, res: ServerResponse) => {
    const gone = new AbortController();
    res.on("close", () => {
      if (!res.writableFinished) gone.abort();
    });
    const headers = Object.entries(req.headers).map(([name, value]): [string, string] => [name, String(value)]);
    const body = req.method === "GET" || req.method === "HEAD" ? null : (Readable.toWeb(req) as BodyInit);
    const init = { method: req.method!, headers, body, duplex: "half", signal: gone.signal };
    const response = await answer(new Request(`http://${req.headers.host}${req.url}`, init));
    if (res.destroyed) return;
    res.writeHead(response.status, Object.fromEntries(response.headers)).flushHeaders();
    if (response.body === null) res.end();
    else await pipeline(Readable.fromWeb(response.body as ReadableStream), res).catch(() => res.destroy());
  };
}
