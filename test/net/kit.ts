import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { networkInterfaces } from "node:os";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";

export const hasIpv6: boolean = Object.values(networkInterfaces())
  .flat()
  .some((one) => one?.address === "::1");

/** A loopback address other than 127.0.0.1. */
export const otherLoopback: string = hasIpv6 ? "::1" : "127.0.0.2";

/** One request as a server received it. */
export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface TestServer {
  /** With the host name `localhost`. */
  readonly url: string;
  readonly port: number;
  readonly seen: Seen[];
  /** The number of connections, with or without a request. */
  readonly connections: { count: number };
}

export type Handle = (seen: Seen, response: ServerResponse, request: IncomingMessage) => unknown;

/** Starts a server on loopback that handles requests as the test says. */
export async function startServer(handle: Handle, host = "127.0.0.1", port = 0): Promise<TestServer> {
  const seen: Seen[] = [];
  const connections = { count: 0 };
  const server = createServer(async (request, response) => {
    const { method = "", url: path = "", headers } = request;
    const one = { method, path, headers, body: await text(request) };
    seen.push(one);
    await handle(one, response, request);
  });
  server.on("connection", () => {
    connections.count += 1;
  });
  server.listen(port, host);
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const taken = (server.address() as AddressInfo).port;
  return { url: `http://localhost:${taken}`, port: taken, seen, connections };
}

/** Returns the error that a promise rejects with. */
export async function errorOf(promise: Promise<unknown>): Promise<Error & { code?: string }> {
  return promise.then(
    () => {
      throw new Error("Expected a rejection, got a result");
    },
    (error: Error) => error,
  );
}
