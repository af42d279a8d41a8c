import { PortolanError } from "../../../errors.ts";

/** Says why nothing can listen there, and what to do. */
export function cannotListen(error: NodeJS.ErrnoException, port: number, host: string): PortolanError {
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
