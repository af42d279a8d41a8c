import { nameOf, PortolanError } from "../../../errors.ts";

/** Returns the error for a failed `listen`, with what to do. */
export function cannotListen(error: NodeJS.ErrnoException, port: number, host: string): PortolanError {
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
