import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { type Channel, createMemoryPair, LineReader, type Message } from "portolan";
import type { CommandTarget, ConnectTarget } from "portolan/client";
import { openHttp } from "./http-endpoint.ts";
import type { ClientTransport } from "./transports.ts";

/** What a server's end of a connection tells. */
export interface Hearing {
  /** One line or parcel, as it was parsed: a message, or a batch. */
  heard(value: Message | Message[]): void;
  /** A line as it came; over stdio only. */
  line(text: string): void;
  /** What the process says of itself; over stdio only. */
  noted(text: string): void;
  opened(end: End): void;
  closed(): void;
}

/** The server's end of one connection. */
export interface End {
  /** Sends a value, whatever it is, as one message. */
  send(value: unknown): void;
  /** Sends bytes as they are; over stdio only. */
  write(bytes: string | Uint8Array): void;
  /** Has the process do something; over stdio only. */
  command(command: object): void;
  /** Ends the connection from this side. */
  leave(code: number): void;
}

/** Where a client connects to, and how to take it all down. */
export interface Door {
  readonly target: ConnectTarget;
  close(): Promise<void>;
}

export type DoorOptions = Partial<CommandTarget> & { readonly habits?: readonly string[] };

/** A door to a server that is told what to do by whoever hears. */
export function openDoor(transport: ClientTransport, hearing: Hearing, options: DoorOptions = {}): Promise<Door> {
  if (transport === "http") return openHttp(hearing);
  return transport === "memory" ? openMemory(hearing) : openStdio(hearing, options);
}

async function openMemory(hearing: Hearing): Promise<Door> {
  const [near, far] = createMemoryPair({ serialize: true });
  attach(far, hearing);
  return { target: near, close: () => far.close() };
}

/** Has a server hear what comes over its end of a channel. */
export function attach(channel: Channel, hearing: Hearing): void {
  hearing.opened(new MemoryEnd(channel));
  channel.open({
    message: (message) => hearing.heard(message),
    batch: (messages) => hearing.heard(messages),
    unreadable: ({ why }) => {
      throw new Error(`the client sent what is no message: ${why}`);
    },
    closed: () => hearing.closed(),
  });
}

class MemoryEnd implements End {
  readonly #channel: Channel;

  constructor(channel: Channel) {
    this.#channel = channel;
  }

  send(value: unknown): void {
    // No type allows what some tests send; its text is what arrives.
    this.#channel.send({ toJSON: () => value } as unknown as Message);
  }

  write(): never {
    throw new Error("bytes are for stdio");
  }

  command(): never {
    throw new Error("there is no process");
  }

  leave(): void {
    this.#channel.close();
  }
}

const relay = fileURLToPath(new URL("./relay.mjs", import.meta.url));

/** A real process, whose standard input and output end up here. */
async function openStdio(hearing: Hearing, { habits = [], ...target }: DoorOptions): Promise<Door> {
  const sockets = new Set<Socket>();
  const listener = createServer((socket) => {
    sockets.add(socket);
    hearing.opened(new ProcessEnd(socket));
    read(socket, hearing);
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address() as AddressInfo;
  return {
    target: { command: process.execPath, args: [relay, String(port), ...habits], graceMs: 3_000, ...target },
    async close() {
      for (const socket of sockets) socket.destroy();
      listener.close();
    },
  };
}

function read(socket: Socket, hearing: Hearing): void {
  const reader = new LineReader(
    {
      message: (message) => hearing.heard(message),
      batch: (messages) => hearing.heard(messages),
      unreadable: ({ why }) => {
        throw new Error(`the client sent what is no message: ${why}`);
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
      if (line.startsWith("# ")) hearing.noted(line.slice(2));
      else {
        hearing.line(line);
        reader.push(Buffer.from(`${line}\n`));
      }
    }
  });
  socket.on("error", () => {});
  socket.on("close", () => hearing.closed());
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
