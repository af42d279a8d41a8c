import { once } from "node:events";
import { createServer as createHttpServer, request as openRequest } from "node:http";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import { onTestFinished } from "vitest";

/** Where every stream is cut on its way to the client. */
export interface Cut {
  /** After so many events. */
  readonly events?: number;
  /** After so many bytes, wherever in an event that is. */
  readonly bytes?: number;
}

const keepAlive = /^:/m;

/** The connection of a client, and the one to the server that belongs to it. */
interface Pair {
  readonly client: Socket;
  readonly server: Socket;
  readonly meter: Meter;
}

/** Stands between a client and a server, and hands on bytes until something goes wrong. */
export class Relay {
  readonly url: string;
  /** How many streams were cut. */
  cuts = 0;
  /** How many connections became a stream. */
  streams = 0;
  /** How many pieces with a keep-alive were handed on. */
  keepAlives = 0;
  /** Takes connections, and hands nothing on over new ones. */
  isMute = false;
  readonly #cut: Cut;
  readonly #pairs = new Set<Pair>();

  private constructor(server: Server, target: URL, cut: Cut) {
    this.url = urlOf(server, target);
    this.#cut = cut;
    server.on("connection", (client: Socket) => this.#take(client, Number(target.port)));
  }

  static async start(target: string, cut: Cut = {}): Promise<Relay> {
    const server = createServer({ noDelay: true });
    await listening(server);
    const relay = new Relay(server, new URL(target), cut);
    onTestFinished(() => relay.destroyAll());
    return relay;
  }

  /** Hands nothing more on over the connections that are there, or those that stream, and closes none of them. */
  hush(which: "all" | "streams" = "all"): void {
    for (const { client, server, meter } of this.#pairs) {
      if (which === "streams" && !meter.isStream) continue;
      for (const socket of [client, server]) socket.removeAllListeners("data").pause();
    }
  }

  destroyAll(): void {
    for (const { client, server } of this.#pairs) for (const socket of [client, server]) socket.destroy();
  }

  #take(client: Socket, port: number): void {
    const server = connect({ port, host: "127.0.0.1", noDelay: true });
    const pair = { client, server, meter: new Meter(this.#cut) };
    this.#pairs.add(pair);
    if (!this.isMute) this.#handOn(pair);
    const ways = [
      [client, server],
      [server, client],
    ] as const;
    for (const [socket, other] of ways) {
      socket.on("error", () => {});
      socket.on("close", () => {
        other.destroy();
        this.#pairs.delete(pair);
      });
    }
  }

  #handOn({ client, server, meter }: Pair): void {
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

/** Counts what passes on one connection. */
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

  /** How much of a piece passes before the cut; undefined when there is none. */
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

/** A proxy that keeps every answer back until it is whole; resolves to its address. */
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

/** Takes connections where a server was, and drops them at once. */
export class Ruin {
  /** How many have knocked. */
  knocks = 0;
  readonly #server: Server = createServer((socket) => {
    this.knocks += 1;
    socket.destroy();
  });

  static async at(port: number): Promise<Ruin> {
    const ruin = new Ruin();
    await listening(ruin.#server, port);
    return ruin;
  }

  async clear(): Promise<void> {
    this.#server.close();
    await once(this.#server, "close");
  }
}

/** Listens on loopback until the test ends. */
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
