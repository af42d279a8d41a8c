import type { IncomingMessage, Server, ServerOptions, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { nameOf, PortolanError } from "../../../errors.ts";
import { checkOptions, type OptionNames } from "../../../options.ts";
import { unexpected } from "../../define/check.ts";
import { bodyLimits } from "../body.ts";
import type { ListenSignals } from "../endpoint.ts";
import {
  acceptQueueLength,
  connectionCheckMs,
  defaultCloseGraceMs,
  defaultHeadersMs,
  idleConnectionMs,
  minBodyBytesPerSecond,
} from "../limits.ts";
import { type ClosingState, closingState } from "../node.ts";
import type { HttpLimits } from "../options.ts";

export interface ListenOptions {
  /** 0 takes a free port. */
  readonly port: number;
  readonly host: string;
  readonly limits?: HttpLimits;
}

/** A server that listens. */
export interface Listening {
  readonly port: number;
  /** Its address without a path. */
  readonly url: string;
  /**
   * Refuses new connections and closes the open ones: idle ones at once, the others after their response or after
   * `graceMs`. Default: 10 s.
   */
  close(graceMs?: number): Promise<void>;
}

/** Creates a server for a listener, and resolves when it listens. */
export async function listenOn(
  listener: (req: IncomingMessage, res: ServerResponse) => void,
  { port, host, limits = {} }: ListenOptions,
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
  const taken = (server.address() as AddressInfo).port;
  let closed: Promise<void> | undefined;
  return {
    port: taken,
    url: `http://${toUrlHost(host)}:${taken}`,
    close: (graceMs = defaultCloseGraceMs) => {
      listening.isClosing = true;
      closed ??= stop(server, sockets, graceMs);
      return closed;
    },
  };
}

const settingNames = { signals: 1 } satisfies OptionNames<ListenSignals>;

/** Throws if the arguments of `listen` are not a port, a host and known options. */
export function checkListen(port: unknown, host: unknown, settings: ListenSignals): void {
  const where = "listen(port, host, { signals })";
  const code = "invalid-argument";
  if (typeof port !== "number") throw unexpected(`${where}: port`, "a number", port, code);
  if (typeof host !== "string") throw unexpected(`${where}: host`, 'a string such as "127.0.0.1"', host, code);
  if (typeof settings !== "object" || settings === null)
    throw unexpected(where, "options as an object", settings, code);
  checkOptions(settings, settingNames, "listen");
}

/** Closes the endpoint on the first SIGTERM or SIGINT and exits; exits at once on the second. */
export function exitOnSignals(close: () => Promise<void>): void {
  let isLeaving = false;
  const leave = (_: string, signal: number) => {
    if (isLeaving) process.exit(128 + signal);
    isLeaving = true;
    close().then(
      () => process.exit(0),
      (reason) => {
        console.error(reason);
        process.exit(1);
      },
    );
  };
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, leave);
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
      // A connection that cannot be accepted (no file descriptors) must not end the process.
      server.on("error", () => {});
      resolve();
    });
  }).catch((error: NodeJS.ErrnoException) => {
    throw cannotListen(error, port, host);
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

/** Returns the error for a failed `listen`, with what to do. */
function cannotListen(error: NodeJS.ErrnoException, port: number, host: string): PortolanError {
  return new PortolanError("invalid-argument", `listen: ${whyNot(error, port, host)}`, { cause: error });
}

function whyNot(error: NodeJS.ErrnoException, port: number, host: string): string {
  switch (error.code) {
    case "EADDRINUSE":
      return `port ${port} of ${host} is in use; choose another port, or 0 for a free one`;
    case "EACCES":
      return `no permission to listen on port ${port} of ${host}; choose a port above 1023`;
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `${JSON.stringify(host)} is not an address of this machine; expected one such as "127.0.0.1"`;
    case "ERR_SOCKET_BAD_PORT":
      return `expected a port from 0 to 65535, got ${port}`;
    default:
      return error.message;
  }
}

/** Returns the error for listening on a public address without authentication. */
export function unsafeBinding(host: string): PortolanError {
  return new PortolanError(
    "invalid-argument",
    `host: expected a loopback address, got ${nameOf(host)}; authenticate callers with \`auth\` or \`verify\`, or set \`dangerouslyAllowUnauthenticated\``,
  );
}
