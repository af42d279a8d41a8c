import { fileURLToPath } from "node:url";
import { type Channel, type Incoming, type JsonObject, LineReader, serialize } from "portolan";
import { serveChannel } from "portolan/server";
import createFullServer from "../kit/full-server.mjs";
import { ChildChannel } from "../kit/raw-peer.ts";

/** Something that takes bytes and gives lines: a server behind its framing. */
export interface Wire {
  write(bytes: Uint8Array): void;
  /** Every message that came, oldest first; what is no JSON fails the test. */
  readonly received: JsonObject[];
  /** Resolves when more has come, or the other side is gone. */
  changed(): Promise<void>;
  readonly isGone: boolean;
}

/** Calls back for each line of JSON that arrives. */
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

/** The framing and the server in this process. */
export function openMemory(): Wire {
  const inbox = createInbox();
  let reader: LineReader | undefined;
  const channel: Channel = {
    open(incoming: Incoming) {
      reader = new LineReader(incoming, { maxBytes: 200_000 });
    },
    send: (message) => inbox.take(serialize(message)),
    close: async () => {},
  };
  serveChannel(createFullServer(), channel);
  return { write: (bytes) => reader?.push(bytes), received: inbox.received, changed: inbox.changed, isGone: false };
}

/** A real process. */
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
    get isGone() {
      return channel.child.exitCode !== null;
    },
  };
}

/** Writes in pieces, cut anywhere. */
export function writeCut(wire: Wire, bytes: Uint8Array, cuts: number[]): void {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  let start = 0;
  for (const end of [...places, bytes.length]) {
    if (end > start) wire.write(bytes.slice(start, end));
    start = end;
  }
}

const patienceMs = 10_000;

/** Waits for a condition; fails when the server is gone or keeps silent. */
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
      if (wire.isGone) throw new Error("the server is gone");
      if (isLate) throw new Error(`still waiting for ${what}`);
      await Promise.race([wire.changed(), late]);
    }
  } finally {
    clearTimeout(timer);
  }
}
