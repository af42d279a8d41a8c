import { connect } from "node:net";

/** The connection whose statement is to be ended, as the server named it when it was made. */
export interface Target {
  readonly host: string;
  readonly port: number;
  readonly processId: number;
  readonly secret: number;
}

const code = 80_877_102;
const patienceMs = 5_000;

/** Asks the server to end what a connection is doing: on a connection of its own, because the other one is busy. */
export function cancel({ host, port, processId, secret }: Target): Promise<void> {
  const message = Buffer.alloc(16);
  for (const [at, number] of [message.length, code, processId, secret].entries()) message.writeInt32BE(number, at * 4);
  return new Promise((resolve) => {
    const socket = host.startsWith("/") ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
    socket.setTimeout(patienceMs, () => socket.destroy());
    socket.on("connect", () => socket.end(message));
    // Whether it was heard shows on the other connection, which is closed in any case.
    socket.on("error", () => {});
    socket.on("close", () => resolve());
    socket.resume();
  });
}
