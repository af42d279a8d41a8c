import type { Channel, ChannelEvents, Sendable } from "../jsonrpc/channel.ts";
import type { JsonObject, Message, RpcNotification, RpcRequest } from "../jsonrpc/message.ts";
import { serialize } from "../jsonrpc/message.ts";
import { metaKeys } from "../protocol/revision.ts";

/** The messages of a channel in order, as JSON text. */
export interface Transcript {
  /** One line per message: `→ ` before a sent one, `← ` before a received one. */
  readonly lines: readonly string[];
  /** Returns the first request or notification of a method, sent or received. */
  find(method: string): RpcRequest | RpcNotification | undefined;
  /** Returns the sent requests and notifications of a method. */
  sent(method: string): (RpcRequest | RpcNotification)[];
  /** Returns the received requests and notifications of a method. */
  received(method: string): (RpcRequest | RpcNotification)[];
  /** Returns all lines. */
  toString(): string;
  /** Returns all lines without versions, names and capabilities of the two sides. */
  brief(): string;
}

/** Wraps a channel. Returns the new channel and the transcript of its messages. */
export function recordChannel(channel: Channel): [Channel, Transcript] {
  const recorder = new Recorder();
  let isClosed = false;
  const recorded: Channel = {
    ...(channel.writesText !== undefined && { writesText: channel.writesText }),
    open: (incoming) =>
      channel.open(
        recordIncoming(incoming, recorder, () => {
          isClosed = true;
        }),
      ),
    send(message) {
      const sending = channel.send(message);
      if (!isClosed) recorder.add("→", textOf(message));
      return sending;
    },
    close() {
      isClosed = true;
      return channel.close();
    },
  };
  return [recorded, recorder];
}

function recordIncoming(incoming: ChannelEvents, recorder: Recorder, ended: () => void): ChannelEvents {
  return {
    message(message) {
      recorder.add("←", textOf(message));
      incoming.message(message);
    },
    batch(messages) {
      recorder.add("←", JSON.stringify(messages));
      incoming.batch(messages);
    },
    unreadable(problem) {
      recorder.add("←", `unreadable: ${problem.why}`);
      incoming.unreadable(problem);
    },
    closed(reason) {
      ended();
      incoming.closed(reason);
    },
  };
}

/** A channel that passes objects also accepts values without a JSON form: recording them must not fail. */
function textOf(message: Sendable): string {
  try {
    return serialize(message);
  } catch (reason) {
    return `unserializable: ${reason instanceof Error ? reason.message : reason}`;
  }
}

type Direction = "→" | "←";

interface Entry {
  readonly direction: Direction;
  readonly text: string;
}

class Recorder implements Transcript {
  readonly #entries: Entry[] = [];

  get lines(): readonly string[] {
    return this.#entries.map(toLine);
  }

  add(direction: Direction, text: string): void {
    this.#entries.push({ direction, text });
  }

  find(method: string): RpcRequest | RpcNotification | undefined {
    return this.#all(method)[0];
  }

  sent(method: string): (RpcRequest | RpcNotification)[] {
    return this.#all(method, "→");
  }

  received(method: string): (RpcRequest | RpcNotification)[] {
    return this.#all(method, "←");
  }

  toString(): string {
    return this.lines.join("\n");
  }

  brief(): string {
    return this.#entries
      .map(({ direction, text }) => toLine({ direction, text: isJson(text) ? JSON.stringify(shorten(text)) : text }))
      .join("\n");
  }

  #all(method: string, direction?: Direction): (RpcRequest | RpcNotification)[] {
    return this.#entries
      .filter((entry) => (direction === undefined || entry.direction === direction) && isJson(entry.text))
      .flatMap(({ text }) => JSON.parse(text) as Message | Message[])
      .filter((message): message is RpcRequest | RpcNotification => "method" in message && message.method === method);
  }
}

const toLine = ({ direction, text }: Entry): string => `${direction} ${text}`;

const isJson = (text: string): boolean => text.startsWith("{") || text.startsWith("[");

/** Members that describe the sender: in every request and result, or in a handshake. */
const selfDescriptions: readonly string[] = [
  metaKeys.protocolVersion,
  metaKeys.clientCapabilities,
  metaKeys.clientInfo,
  metaKeys.serverInfo,
  "clientInfo",
  "serverInfo",
];

function shorten(text: string): unknown {
  const value = JSON.parse(text) as JsonObject | JsonObject[];
  return Array.isArray(value) ? value.map(shortenMessage) : shortenMessage(value);
}

function shortenMessage(message: JsonObject): JsonObject {
  return mapMembers(message, (name, value) => {
    if (name !== "params" && name !== "result") return value;
    return isObject(value) ? withoutSelfDescriptions(value) : value;
  });
}

function withoutSelfDescriptions(part: JsonObject): JsonObject {
  return mapMembers(part, (name, value) => {
    if (selfDescriptions.includes(name)) return undefined;
    if (name !== "_meta" || !isObject(value)) return value;
    const meta = withoutSelfDescriptions(value);
    return Object.keys(meta).length === 0 ? undefined : meta;
  });
}

/** Changes each member, and removes those that become undefined. */
function mapMembers(value: JsonObject, change: (name: string, member: unknown) => unknown): JsonObject {
  const changed = Object.entries(value).map(([name, member]) => [name, change(name, member)] as const);
  return Object.fromEntries(changed.filter(([, member]) => member !== undefined));
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
