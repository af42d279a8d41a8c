import { once } from "node:events";
import {
  createServer,
  type IncomingMessage,
  request as openRequest,
  type Server,
  type ServerResponse,
} from "node:http";
import { connect, createServer as createTcpServer, type Socket, type Server as TcpServer } from "node:net";
import type { Random } from "./random.ts";

/** A request on its way through the proxy. */
interface Passage {
  readonly cut: () => void;
  /** Holds everything back, in both directions. */
  readonly delay: (ms: number) => void;
}

/**
 * A round robin without affinity: each request goes to the next process, also those of one connection. A request is sent to
 * another process only if the connection was refused, so that none is served twice.
 */
export class RoundRobin {
  readonly #server: Server;
  #targets: () => readonly number[];
  #turn = 0;
  readonly #passages = new Set<Passage>();
  /** The connections of clients, each with the latest request that it carried. */
  readonly #clients = new Map<Socket, string>();
  /** The requests of the last minutes, for traces. */
  readonly passed: { readonly at: number; readonly client: string; readonly text: string }[] = [];

  private constructor(targets: () => readonly number[]) {
    this.#targets = targets;
    this.#server = createServer((request, response) => this.#pass(request, response));
    this.#server.keepAliveTimeout = 60_000;
    this.#server.on("connection", (socket) => {
      this.#clients.set(socket, "no request");
      socket.on("close", () => this.#clients.delete(socket));
      socket.on("error", () => {});
    });
  }

  /** @param targets returns the ports of the processes that are ready */
  static async start(targets: () => readonly number[]): Promise<RoundRobin> {
    const proxy = new RoundRobin(targets);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as { port: number }).port}/mcp`;
  }

  /** The latest request of each connection that is open. */
  get connections(): readonly string[] {
    return [...this.#clients.values()];
  }

  /** Closes about this share of all connections that carry a request now. */
  cut(random: Random, share: number): number {
    const chosen = [...this.#passages].filter(() => random.next() < share);
    for (const { cut } of chosen) cut();
    return chosen.length;
  }

  /** Holds back what about this share of the requests under way transport. */
  delay(random: Random, share: number, ms: number): void {
    for (const passage of this.#passages) if (random.next() < share) passage.delay(ms);
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #pass(request: IncomingMessage, response: ServerResponse): void {
    const targets = this.#targets();
    this.#turn += 1;
    this.#try(request, response, targets, this.#turn);
  }

  #try(request: IncomingMessage, response: ServerResponse, targets: readonly number[], turn: number, tries = 0): void {
    const port = targets[(turn + tries) % Math.max(targets.length, 1)];
    if (port === undefined || tries >= targets.length) {
      response.writeHead(502, { "content-type": "text/plain", "x-proxy": "none" }).end("No process is ready");
      return;
    }
    const { method, url, headers } = request;
    const note = (what: string) => {
      if (this.#clients.has(request.socket))
        this.#clients.set(request.socket, `${headers.authorization} ${method} at ${port}: ${what}`);
      if (this.passed.length > 50_000) this.passed.splice(0, 10_000);
      this.passed.push({ at: Date.now(), client: headers.authorization ?? "", text: `${method} at ${port}: ${what}` });
    };
    note("sent");
    const upstream = openRequest({ host: "127.0.0.1", port, method, path: url, headers, agent: false });
    let isHeld = false;
    let answer: IncomingMessage | undefined;
    const passage: Passage = {
      cut: () => {
        upstream.destroy();
        request.socket.destroy();
      },
      delay: (ms) => {
        if (isHeld) return;
        isHeld = true;
        request.pause();
        answer?.unpipe(response);
        setTimeout(() => {
          isHeld = false;
          request.resume();
          answer?.pipe(response);
        }, ms);
      },
    };
    this.#passages.add(passage);
    const over = () => this.#passages.delete(passage);
    upstream.on("error", (error: NodeJS.ErrnoException) => {
      over();
      // A refused connection has carried nothing.
      if (error.code === "ECONNREFUSED" && !response.headersSent) {
        request.unpipe(upstream);
        this.#try(request, response, targets, turn, tries + 1);
      } else request.socket.destroy();
    });
    upstream.on("response", (arrived) => {
      answer = arrived;
      note(String(arrived.statusCode));
      response.writeHead(arrived.statusCode ?? 502, arrived.headers);
      response.flushHeaders();
      arrived.on("error", () => request.socket.destroy());
      arrived.on("close", () => {
        over();
        if (!arrived.complete) request.socket.destroy();
      });
      if (!isHeld) arrived.pipe(response);
    });
    response.on("close", () => {
      over();
      note("over");
      upstream.destroy();
    });
    // The body is sent with the connection, not before: a refused one must leave it for the next process.
    upstream.on("socket", (socket) =>
      socket.once("connect", () => {
        // A body that is held back must not hold back the headers: a server closes connections that do not send them.
        upstream.flushHeaders();
        request.pipe(upstream);
      }),
    );
  }
}

/** Leads connections to one of several Redis servers, as the address of a managed Redis does. */
export class RedisAddress {
  readonly #server: TcpServer;
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  /** The port of the present master. */
  target: number;

  private constructor(target: number) {
    this.target = target;
    this.#server = createTcpServer((client) => {
      const server = connect(this.target, "127.0.0.1");
      const pair = [client, server] as const;
      this.#pairs.add(pair);
      for (const [from, to] of [pair, [server, client] as const]) {
        from.setNoDelay(true);
        from.on("error", () => to.destroy());
        from.on("close", () => {
          this.#pairs.delete(pair);
          to.destroy();
        });
        from.pipe(to);
      }
    });
  }

  static async start(target: number): Promise<RedisAddress> {
    const address = new RedisAddress(target);
    address.#server.listen(0, "127.0.0.1");
    await once(address.#server, "listening");
    return address;
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port;
  }

  /** Closes all connections, or about a share of them. */
  cut(random?: Random, share = 1): void {
    for (const [client, server] of this.#pairs) {
      if (random && random.next() >= share) continue;
      client.destroy();
      server.destroy();
    }
  }

  stop(): void {
    this.#server.close();
    this.cut();
  }
}
