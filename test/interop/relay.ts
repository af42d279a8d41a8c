import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";

/** A TCP relay in front of a server that can cut its connections. */
export interface Relay {
  /** The server's address, through the relay. */
  readonly url: string;
  /** The number of open sockets. */
  readonly open: number;
  /** Closes every open connection on both sides; new connections are accepted. */
  cut(): void;
  /** Lets new connections wait until the returned function is called. */
  hold(): () => void;
}

/** Starts a relay in front of a server; closes it after the test. */
export async function startRelay(target: string): Promise<Relay> {
  const { hostname, port, pathname } = new URL(target);
  const sockets = new Set<Socket>();
  let held: (() => void)[] | undefined;
  const track = (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => {});
  };
  const join = (near: Socket) => {
    const far = connect(Number(port), hostname);
    track(far);
    near.pipe(far).pipe(near);
    near.on("close", () => far.destroy());
    far.on("close", () => near.destroy());
  };
  const server = createServer((near) => {
    track(near);
    if (held) held.push(() => join(near));
    else join(near);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  onTestFinished(() => {
    server.close();
    cut();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${pathname}`,
    get open() {
      return sockets.size;
    },
    cut,
    hold() {
      const waiting: (() => void)[] = [];
      held = waiting;
      return () => {
        held = undefined;
        for (const proceed of waiting) proceed();
      };
    },
  };
}
