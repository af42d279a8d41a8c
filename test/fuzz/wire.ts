import { fileURLToPath } from "node:url";
import { type Channel, type ChannelEvents, type JsonObject, LineReader, serialize } from "portolan";
import { serveChannel } from "portolan/server";
import createFullServer from "../kit/full-server.mjs";
import { ChildChannel } from "../kit/raw-peer.ts";

/** A server behind its framing: bytes go in, messages come out. */
export interface Wire {
  write(bytes: Uint8Array): void;
  /** All received messages, oldest first. A line that is not JSON fails the test. */
  readonly received: JsonObject[];
  /** Resolves when more messages have arrived or the server has exited. */
  changed(): Promise<void>;
  readonly hasExited: boolean;
}

/** Collects the received messages and wakes the waiting tests. */
function createInbox() {
  const received: JsonObject[] = [];
  const watchers: (() => void)[] = [];
  return {
    received,
    take(text: string) {
      const value = JSON.parse(text);
      received.push(...(Array.isArray(value) ? value : [value]));
      this.wake();
    },
    wake() {
      for (const wake of watchers.splice(0)) wake();
    },
    changed: () => new Promise<void>((resolve) => watchers.push(resolve)),
  };
}

/** Opens a wire to a server in this process. */
export function openMemory(): Wire {
  const inbox = createInbox();
  let reader: LineReader | undefined;
  const channel: Channel = {
    open(incoming: ChannelEvents) {
      reader = new LineReader(incoming, { maxBytes: 200_000 });
    },
    send: (message) => inbox.take(serialize(message)),
    close: async () => {},
  };
  serveChannel(createFullServer(), channel);
  return { write: (bytes) => reader?.push(bytes), received: inbox.received, changed: inbox.changed, hasExited: false };
}

/** Opens a wire to a server in a child process. */
export function openStdio(): Wire & { readonly channel: ChildChannel } {
  const inbox = createInbox();
  const kit = (name: string) => fileURLToPath(new URL(`../kit/${name}`, import.meta.url));
  const channel = new ChildChannel(process.execPath, [kit("serve.mjs"), kit("full-server.mjs")], {
    MAX_MESSAGE_BYTES: "200000",
  });
  let rest = "";
  channel.child.stdout.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) inbox.take(line);
  });
  channel.child.on("exit", () => inbox.wake());
  return {
    channel,
    write: (bytes) => channel.write(bytes),
    received: inbox.received,
    changed: inbox.changed,
    get hasExited() {
      return channel.child.exitCode !== null;
    },
  };
}

/** Writes the bytes in chunks, split at the given positions. */
export function writeCut(wire: Wire, bytes: Uint8Array, cuts: number[]): void {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  let start = 0;
  for (const end of [...places, bytes.length]) {
    if (end > start) wire.write(bytes.slice(start, end));
    start = end;
  }
}

const patienceMs = 10_000;

/** Waits for a condition; throws when the server has exited or stays silent. */
export async function until(wire: Wire, condition: () => boolean, what: string): Promise<void> {
  let isLate = false;
  let wake = () => {};
  const late = new Promise<void>((resolve) => {
    wake = resolve;
  });
  const timer = setTimeout(() => {
    isLate = true;
    wake();
  }, patienceMs);
  try {
    while (!condition()) {
      if (wire.hasExited) throw new Error("the server has exited");
      if (isLate) throw new Error(`still waiting for ${what}`);
      await Promise.race([wire.changed(), late]);
    }
  } finally {
    clearTimeout(timer);
  }
}
