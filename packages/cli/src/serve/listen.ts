import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Failure } from "../failure.ts";

/** Handles a request of `node:http`. */
export type RequestListener = Parameters<typeof createServer>[1] & {};

/** A listening HTTP server. */
export interface HttpListener {
  readonly url: string;
  close(): Promise<void>;
}

export const path = "/mcp";

/** Listens on loopback. With `isPreferred`, another port is taken if this one is in use. */
export async function listen(
  listener: RequestListener,
  port: number,
  { isPreferred = false }: { readonly isPreferred?: boolean } = {},
): Promise<HttpListener> {
  const server = createServer((request, response) => {
    if (request.url?.split("?", 1)[0] === path) listener(request, response);
    else response.writeHead(404, { "content-type": "text/plain" }).end(`Not found. The server is at ${path}\n`);
  });
  // Calls may take long, and streams stay open.
  server.requestTimeout = 0;
  try {
    await begin(server, port);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "EADDRINUSE") throw cause;
    if (!isPreferred) {
      throw new Failure("usage", `port ${port} is in use`, { next: "use any free port: --http 0", cause });
    }
    await begin(server, 0);
  }
  const { port: taken } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${taken}${path}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function begin(server: ReturnType<typeof createServer>, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => {
      server.off("error", reject);
      resolve();
    });
  });
}

/** Parses the port of a flag. */
export function parsePort(given: string, flag = "--http"): number {
  const port = Number(given);
  if (/^\d{1,5}$/.test(given) && port <= 65_535) return port;
  throw new Failure("usage", `${flag}: expected a port, got ${JSON.stringify(given)}`);
}
