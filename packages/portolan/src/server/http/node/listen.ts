import type { IncomingMessage, Server, ServerOptions, ServerResponse } from "node:http";
import type { AddressInfo, DropArgument, Socket } from "node:net";
import type { ServerRuntime } from "../../runtime.ts";
import { bodyLimits } from "../body.ts";
import {
  acceptQueueLength,
  connectionCheckMs,
  defaultCloseGraceMs,
  defaultHeadersMs,
  idleConnectionMs,
  minBodyBytesPerSecond,
} from "../limits.ts";
import { type ClosingState, closingState } from "../node.ts";
import { type HttpLimits, isSafeBinding, type ServeHttpOptions } from "../options.ts";
import type { ListenSettings } from "../serve-http.ts";

export interface ListenOptions {
  /** 0 takes a free port. */
  readonly port: number;
  readonly host: string;
  readonly limits?: HttpLimits;
  /** Receives errors while connections are accepted. */
  readonly onError?: (error: Error) => void;
  /** Receives the addresses of each connection beyond `limits.connections`. */
  readonly onDropped?: (connection?: DropArgument) => void;
}

/** A server that listens. */
export interface Listening {
  readonly port: number;
  /** Its address without a path. */
  readonly url: string;
  /**
   * Refuses new connections and closes the open ones: idle ones at once, the others after their response or after
   * `graceMs`. Default: 10 s. While `drained` is pending, the port stays open and only responses close their connections.
   */
  close(graceMs?: number, drained?: Promise<unknown>): Promise<void>;
}

/** Creates a server for a listener, and resolves when it listens. */
export async function listenOn(
  listener: (req: IncomingMessage, res: ServerResponse) => void,
  { port, host, limits = {}, onError = () => {}, onDropped = () => {} }: ListenOptions,
): Promise<Listening> {
  const { createServer } = await import("node:http");
  const listening: ClosingState = { isClosing: false };
  const server = createServer(serverOptions(limits), (req, res: ServerResponse & { [closingState]?: ClosingState }) => {
    res[closingState] = listening;
    if (listening.isClosing) res.setHeader("connection", "close");
    listener(req, res);
  });
  if (limits.connections !== undefined) server.maxConnections = limits.connections;
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await start(server, port, host);
  // A connection that cannot be accepted (no file descriptors) must not end the process.
  server.on("error", onError);
  server.on("drop", onDropped);
  const taken = (server.address() as AddressInfo).port;
  let closed: Promise<void> | undefined;
  return {
    port: taken,
    url: `http://${toUrlHost(host)}:${taken}`,
    close: (graceMs = defaultCloseGraceMs, drained) => {
      listening.isClosing = true;
      const end = () => stop(server, sockets, graceMs);
      closed ??= drained ? drained.then(end, end) : end();
      return closed;
    },
  };
}

/**
 * Throws if the arguments of `listen` are not a port, a host and known options, if a server without authentication would
 * listen on a public address, or if the server card is invalid. Reports a server that keeps state in this process although
 * others serve the same clients.
 */
export async function checkListen(
  port: unknown,
  host: unknown,
  settings: ListenSettings | undefined,
  options: ServeHttpOptions,
  runtime: ServerRuntime,
): Promise<void> {
  // A worker of node:cluster has a channel to its parent.
  const isAlone = !options.instances && !process.channel && !options.card;
  const isPlain = isAlone && typeof port === "number" && typeof host === "string" && settings === undefined;
  if (isPlain && isSafeBinding(host, options)) return;
  await (await import("./check-listen.ts")).checkAll(port, host, settings, options, runtime);
}

/** Returns a function that waits once for `drainMs`; all its callers share the wait. */
export function createDrain(drainMs = 0): () => Promise<void> | undefined {
  let draining: Promise<void> | undefined;
  return () => {
    if (drainMs > 0) draining ??= new Promise((resolve) => setTimeout(resolve, drainMs));
    return draining;
  };
}

/** Closes the endpoint on the first SIGTERM or SIGINT and exits; exits at once on the second. */
export async function exitOnSignals(close: () => Promise<void>): Promise<void> {
  (await import("./check-listen.ts")).closeOnSignals(close);
}

function serverOptions(limits: HttpLimits): ServerOptions {
  const headersTimeout = limits.headersMs ?? defaultHeadersMs;
  const body = bodyLimits(limits);
  return {
    headersTimeout,
    // For bodies that are not read; those that are read have a limit of their own, which depends on their rate.
    requestTimeout:
      headersTimeout + Math.max(body.ms, (body.bytes / minBodyBytesPerSecond) * 1_000) + connectionCheckMs,
    connectionsCheckingInterval: Math.min(connectionCheckMs, headersTimeout),
    keepAliveTimeout: idleConnectionMs,
    // A header that was sent twice must not look like one that was sent once.
    joinDuplicateHeaders: true,
    keepAlive: true,
    keepAliveInitialDelay: idleConnectionMs,
  };
}

function start(server: Server, port: number, host: string): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port, host, backlog: acceptQueueLength }, () => {
      server.off("error", reject);
      resolve();
    });
  }).catch(async (error: NodeJS.ErrnoException) => {
    throw (await import("./check-listen.ts")).cannotListen(error, port, host);
  });
}

async function stop(server: Server, sockets: ReadonlySet<Socket>, graceMs: number): Promise<void> {
  const ended = new Promise<void>((resolve) => server.close(() => resolve()));
  // Responses that began before said that they keep their connection.
  server.keepAliveTimeout = 1;
  server.closeIdleConnections();
  // Node does not count a connection that was never used as idle.
  for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
  const timer = setTimeout(() => {
    for (const socket of sockets) socket.destroy();
  }, graceMs);
  await ended;
  clearTimeout(timer);
}

function toUrlHost(host: string): string {
  if (host === "" || host === "::" || host === "0.0.0.0") return "localhost";
  return host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;
}
