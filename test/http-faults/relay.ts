import { once } from "node:events";
import { createServer as createHttpServer, request as openRequest } from "node:http";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import { onTestFinished } from "vitest";

/** The position at which every stream is cut on its way to the client. */
export interface Cut {
  /** After this many events. */
  readonly events?: number;
  /** After this many bytes, also inside an event. */
  readonly bytes?: number;
}

const keepAlive = /^:/m;

/** The connection of a client and its counterpart to the server. */
interface Pair {
  readonly client: Socket;
  readonly server: Socket;
  readonly meter: Meter;
}

/** A TCP proxy between a client and a server that injects faults. */
export class Relay {
  readonly url: string;
  /** The number of streams that were cut. */
  cuts = 0;
  /** The number of connections that became a stream. */
  streams = 0;
  /** The number of forwarded chunks with a keep-alive comment. */
  keepAlives = 0;
  /** Accepts new connections but forwards nothing on them. */
  isMute = false;
  readonly #cut: Cut;
  readonly #pairs = new Set<Pair>();

  private constructor(server: Server, target: URL, cut: Cut) {
    this.url = urlOf(server, target);
    this.#cut = cut;
    server.on("connection", (client: Socket) => this.#accept(client, Number(target.port)));
  }

  static async start(target: string, cut: Cut = {}): Promise<Relay> {
    const server = createServer({ noDelay: true });
    await listening(server);
    const relay = new Relay(server, new URL(target), cut);
    onTestFinished(() => relay.destroyAll());
    return relay;
  }

  /** Stops forwarding on all open connections, or on those that stream, without closing them. */
  silence(which: "all" | "streams" = "all"): void {
    for (const { client, server, meter } of this.#pairs) {
      if (which === "streams" && !meter.isStream) continue;
      for (const socket of [client, server]) socket.removeAllListeners("data").pause();
    }
  }

  destroyAll(): void {
    for (const { client, server } of this.#pairs) for (const socket of [client, server]) socket.destroy();
  }

  #accept(client: Socket, port: number): void {
    const server = connect({ port, host: "127.0.0.1", noDelay: true });
    const pair = { client, server, meter: new Meter(this.#cut) };
    this.#pairs.add(pair);
    if (!this.isMute) this.#forward(pair);
    const directions = [
      [client, server],
      [server, client],
    ] as const;
    for (const [socket, other] of directions) {
      socket.on("error", () => {});
      socket.on("close", () => {
        other.destroy();
        this.#pairs.delete(pair);
      });
    }
  }

  #forward({ client, server, meter }: Pair): void {
    client.on("data", (chunk: Buffer) => server.write(chunk));
    server.on("data", (chunk: Buffer) => {
      const wasStream = meter.isStream;
      const end = meter.endIn(chunk);
      if (meter.isStream && !wasStream) this.streams += 1;
      if (end === undefined) {
        if (keepAlive.test(chunk.toString("latin1"))) this.keepAlives += 1;
        client.write(chunk);
        return;
      }
      this.cuts += 1;
      server.destroy();
      client.end(chunk.subarray(0, end));
    });
  }
}

/** Counts the bytes and events of one connection. */
class Meter {
  readonly #cut: Cut;
  /** Undefined until a stream has begun. */
  #bytes: number | undefined;
  #events = 0;

  constructor(cut: Cut) {
    this.#cut = cut;
  }

  get isStream(): boolean {
    return this.#bytes !== undefined;
  }

  /** Returns the number of bytes of a chunk before the cut; undefined if the chunk is not cut. */
  endIn(chunk: Buffer): number | undefined {
    const { events = Number.POSITIVE_INFINITY, bytes = Number.POSITIVE_INFINITY } = this.#cut;
    if (this.#bytes === undefined && !chunk.includes("text/event-stream")) return undefined;
    const room = bytes - (this.#bytes ?? 0);
    this.#bytes = (this.#bytes ?? 0) + chunk.length;
    for (let at = chunk.indexOf("\n\n"); at !== -1; at = chunk.indexOf("\n\n", at + 2)) {
      this.#events += 1;
      if (this.#events >= events) return Math.min(at + 2, room);
    }
    return room < chunk.length ? room : undefined;
  }
}

/** Starts a proxy that buffers every answer until it is complete; resolves to its URL. */
export async function startBuffering(target: string): Promise<string> {
  const server = createHttpServer(async (request, response) => {
    const { method, headers } = request;
    const body = await buffer(request);
    const passed = openRequest(target, { method, headers, agent: false }, async (answer) => {
      const whole = await buffer(answer).catch(() => undefined);
      if (whole === undefined) response.destroy();
      else response.writeHead(answer.statusCode ?? 0, answer.headers).end(whole);
    });
    passed.on("error", () => response.destroy());
    response.on("close", () => passed.destroy());
    passed.end(body);
  });
  await listening(server);
  onTestFinished(() => server.closeAllConnections());
  return urlOf(server, new URL(target));
}

/** Accepts connections on the port of a former server and drops them at once. */
export class DroppingListener {
  /** The number of accepted connections. */
  connections = 0;
  readonly #server: Server = createServer((socket) => {
    this.connections += 1;
    socket.destroy();
  });

  static async at(port: number): Promise<DroppingListener> {
    const listener = new DroppingListener();
    await listening(listener.#server, port);
    return listener;
  }

  async clear(): Promise<void> {
    this.#server.close();
    await once(this.#server, "close");
  }
}

/** Listens on loopback until the end of the test. */
async function listening(server: Server, port = 0): Promise<void> {
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
  });
}

function urlOf(server: Server, target: URL): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}${target.pathname}`;
}
