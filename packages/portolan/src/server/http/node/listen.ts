import type { IncomingMessage, Server, ServerOptions, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { nameOf, PortolanError } from "../../../errors.ts";
import { bodyLimits, patientBytesPerSecond } from "../guard.ts";
import { type ClosingState, closingState } from "../node.ts";
import type { HttpLimits } from "../options.ts";

export interface ListenOptions {
  /** 0 takes one that is free. */
  readonly port: number;
  readonly host: string;
  readonly limits?: HttpLimits;
}

/** A server that listens. */
export interface Listening {
  readonly port: number;
  /** Its address without a path. */
  readonly url: string;
  /** Takes no more requests and ends connections: idle ones at once, the others with their answer or after the grace, 10 s unless said otherwise. */
  close(graceMs?: number): Promise<void>;
}

const defaultGraceMs = 10_000;
const defaultHeadersMs = 10_000;
const lookMs = 5_000;
/** More than the 60 s after which common load balancers drop an idle connection: who ends it first is never in doubt. */
const keepAliveMs = 65_000;
const backlog = 4_096;

/** Serves a listener over HTTP. */
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
    close: (graceMs = defaultGraceMs) => {
      listening.isClosing = true;
      closed ??= stop(server, sockets, graceMs);
      return closed;
    },
  };
}

function serverOptions(limits: HttpLimits): ServerOptions {
  const headersTimeout = limits.headersMs ?? defaultHeadersMs;
  const body = bodyLimits(limits);
  return {
    headersTimeout,
    // For bodies that nobody reads; those that are read have their own, finer limit.
    requestTimeout: headersTimeout + Math.max(body.ms, (body.bytes / patientBytesPerSecond) * 1_000) + lookMs,
    connectionsCheckingInterval: Math.min(lookMs, headersTimeout),
    keepAliveTimeout: keepAliveMs,
    // A header that came twice must not look as if it had come once.
    joinDuplicateHeaders: true,
    keepAlive: true,
    keepAliveInitialDelay: keepAliveMs,
  };
}

function start(server: Server, port: number, host: string): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port, host, backlog }, () => {
      server.off("error", reject);
      // Connections that cannot be accepted, for want of file descriptors say, must not end the others.
      server.on("error", () => {});
      resolve();
    });
  }).catch((error: NodeJS.ErrnoException) => {
    throw cannotListen(error, port, host);
  });
}

async function stop(server: Server, sockets: ReadonlySet<Socket>, graceMs: number): Promise<void> {
  const ended = new Promise<void>((resolve) => server.close(() => resolve()));
  // Answers that were begun before have promised to keep their connection.
  server.keepAliveTimeout = 1;
  server.closeIdleConnections();
  // To node, a connection that has never been used is not idle.
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

/** Says why nothing can listen there, and what to do. */
function cannotListen(error: NodeJS.ErrnoException, port: number, host: string): PortolanError {
  return new PortolanError("invalid-argument", `listen: ${whyNot(error, port, host)}`, { cause: error });
}

function whyNot(error: NodeJS.ErrnoException, port: number, host: string): string {
  switch (error.code) {
    case "EADDRINUSE":
      return `port ${port} of ${host} is in use; choose another, or 0 for one that is free`;
    case "EACCES":
      return `port ${port} of ${host} needs more rights; choose one above 1023`;
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `${JSON.stringify(host)} is no address of this machine; expected one such as "127.0.0.1"`;
    case "ERR_SOCKET_BAD_PORT":
      return `expected a port from 0 to 65535, got ${port}`;
    default:
      return error.message;
  }
}

/** Says why a server does not listen there, and what to do. */
export function unsafeBinding(host: string): PortolanError {
  return new PortolanError(
    "invalid-argument",
    `host: expected a loopback address without \`verify\` or \`auth\`, got ${nameOf(host)}; authenticate with \`auth\` or \`verify\`, listen on "127.0.0.1", or set \`dangerouslyAllowUnauthenticated\``,
  );
}
