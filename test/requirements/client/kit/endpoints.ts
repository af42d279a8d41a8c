import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { type Channel, createMemoryPair, LineReader, type Message } from "portolan";
import type { CommandTarget, ConnectTarget } from "portolan/client";
import { openHttp } from "./http-endpoint.ts";
import type { ClientTransport } from "./transports.ts";

/** The events of a server's end of a connection. */
export interface ServerEvents {
  /** Called with each parsed message or batch. */
  received(value: Message | Message[]): void;
  /** Called with each raw line; over stdio only. */
  line(text: string): void;
  /** Called with each note of the process; over stdio only. */
  noted(text: string): void;
  opened(end: End): void;
  closed(): void;
}

/** The server's end of one connection. */
export interface End {
  /** Sends any value as one message. */
  send(value: unknown): void;
  /** Sends raw bytes; over stdio only. */
  write(bytes: string | Uint8Array): void;
  /** Sends a command to the process; over stdio only. */
  command(command: object): void;
  /** Ends the connection from this side. */
  leave(code: number): void;
}

/** The target of a client, and a function that closes the server. */
export interface Endpoint {
  readonly target: ConnectTarget;
  close(): Promise<void>;
}

export type EndpointOptions = Partial<CommandTarget> & { readonly modes?: readonly string[] };

/** Opens an endpoint whose server is controlled by the receiver of its events. */
export function openEndpoint(
  transport: ClientTransport,
  events: ServerEvents,
  options: EndpointOptions = {},
): Promise<Endpoint> {
  if (transport === "http") return openHttp(events);
  return transport === "memory" ? openMemory(events) : openStdio(events, options);
}

async function openMemory(events: ServerEvents): Promise<Endpoint> {
  const [near, far] = createMemoryPair({ serialize: true });
  attach(far, events);
  return { target: near, close: () => far.close() };
}

/** Passes the messages of a channel to a server. */
export function attach(channel: Channel, events: ServerEvents): void {
  events.opened(new MemoryEnd(channel));
  channel.open({
    message: (message) => events.received(message),
    batch: (messages) => events.received(messages),
    unreadable: ({ why }) => {
      throw new Error(`the client sent something that is not a message: ${why}`);
    },
    closed: () => events.closed(),
  });
}

class MemoryEnd implements End {
  readonly #channel: Channel;

  constructor(channel: Channel) {
    this.#channel = channel;
  }

  send(value: unknown): void {
    // Some tests send values that no type allows; only their JSON text matters.
    this.#channel.send({ toJSON: () => value } as unknown as Message);
  }

  write(): never {
    throw new Error("raw bytes exist over stdio only");
  }

  command(): never {
    throw new Error("a process exists over stdio only");
  }

  leave(): void {
    this.#channel.close();
  }
}

const relay = fileURLToPath(new URL("./relay.mjs", import.meta.url));

/** Opens an endpoint in a real process that relays its standard input and output to this one. */
async function openStdio(events: ServerEvents, { modes = [], ...target }: EndpointOptions): Promise<Endpoint> {
  const sockets = new Set<Socket>();
  const listener = createServer((socket) => {
    sockets.add(socket);
    events.opened(new ProcessEnd(socket));
    read(socket, events);
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address() as AddressInfo;
  return {
    target: { command: process.execPath, args: [relay, String(port), ...modes], graceMs: 3_000, ...target },
    async close() {
      for (const socket of sockets) socket.destroy();
      listener.close();
    },
  };
}

function read(socket: Socket, events: ServerEvents): void {
  const reader = new LineReader(
    {
      message: (message) => events.received(message),
      batch: (messages) => events.received(messages),
      unreadable: ({ why }) => {
        throw new Error(`the client sent something that is not a message: ${why}`);
      },
    },
    { maxBytes: 1 << 30 },
  );
  let held = "";
  socket.setEncoding("utf8");
  socket.on("data", (text: string) => {
    const lines = `${held}${text}`.split("\n");
    held = lines.pop() ?? "";
    for (const line of lines) {
      // A client of a Redis that has ended tries its port again, which may belong to this endpoint now.
      if (line.startsWith("*")) return void socket.destroy();
      if (line.startsWith("# ")) events.noted(line.slice(2));
      else {
        events.line(line);
        reader.push(Buffer.from(`${line}\n`));
      }
    }
  });
  socket.on("error", () => {});
  socket.on("close", () => events.closed());
}

class ProcessEnd implements End {
  readonly #socket: Socket;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  send(value: unknown): void {
    this.write(`${JSON.stringify(value)}\n`);
  }

  write(bytes: string | Uint8Array): void {
    this.command({ out: Buffer.from(bytes).toString("base64") });
  }

  command(command: object): void {
    this.#socket.write(`${JSON.stringify(command)}\n`);
  }

  leave(code: number): void {
    this.command({ exit: code });
  }
}
