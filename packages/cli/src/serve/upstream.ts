import { type Answers, type Client, type ConnectOptions, connect } from "portolan/client";
import type { ServerEntry } from "portolan-host";
import type { CommandContext } from "../command.ts";
import { createLink } from "../servers/link.ts";
import { info } from "../version.ts";

/** The events of an upstream server. */
export interface UpstreamEvents {
  readonly onLog: NonNullable<ConnectOptions["onLog"]>;
  /** Called after each connection. */
  readonly onConnected: (client: Client) => Promise<void>;
  readonly onStderr: (line: string) => void;
}

/** Outside a call there is no person to ask. */
const answers: Answers = {
  elicit: () => ({ action: "cancel" }),
  openUrl: () => ({ action: "cancel" }),
  sample() {
    throw new Error("Sampling is supported only within a call");
  },
  roots: [],
};

/** A connection to a server, opened when it is needed, and again after it was lost. */
export class Upstream {
  readonly #entry: ServerEntry;
  readonly #context: CommandContext;
  readonly #events: UpstreamEvents;
  readonly #era: string | undefined;
  #client: Promise<Client> | undefined;
  #isClosed = false;

  constructor(entry: ServerEntry, context: CommandContext, events: UpstreamEvents, era?: string) {
    this.#entry = entry;
    this.#context = context;
    this.#events = events;
    this.#era = era;
  }

  /** Returns the connection, and opens one if there is none. */
  client(): Promise<Client> {
    if (!this.#client) {
      const opening = this.#open();
      this.#client = opening;
      opening.catch(() => this.#forget(opening));
    }
    return this.#client;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const client = await this.#client?.catch(() => undefined);
    await client?.close();
  }

  async #open(): Promise<Client> {
    if (this.#isClosed) throw new Error("closed");
    const { era = this.#era } = this.#entry.settings;
    const client = await connect(await createLink(this.#entry, this.#context, this.#events.onStderr), {
      info,
      answers,
      capabilities: { sampling: { tools: {} } },
      logLevel: "debug",
      cache: false,
      onLog: this.#events.onLog,
      signal: this.#context.signal,
      ...(era !== undefined && { era }),
    });
    const opened = this.#client;
    void client.closed.then(() => this.#forget(opened));
    try {
      await this.#events.onConnected(client);
    } catch (reason) {
      // The connection is not in use yet, so it must be closed here.
      await client.close();
      throw reason;
    }
    return client;
  }

  #forget(opened: Promise<Client> | undefined): void {
    if (this.#client === opened) this.#client = undefined;
  }
}
