import type { JsonObject } from "portolan";
import { type Client, type ClientExtension, type ConnectOptions, connect, type Link } from "portolan/client";
import type { ServerEntry } from "portolan-host";
import type { CommandContext } from "../command.ts";
import { createLink } from "../servers/link.ts";
import { info } from "../version.ts";
import { UnattributedQuestions } from "./questions.ts";
import { UnfinishedCalls } from "./unfinished-calls.ts";

/** The events of an upstream server. */
export interface UpstreamEvents {
  readonly onLog: NonNullable<ConnectOptions["onLog"]>;
  /** Called after each connection. */
  readonly onConnected: (client: Client) => Promise<void>;
  readonly onStderr: (line: string) => void;
}

export interface UpstreamOptions {
  /** All calls come from one client. Default: false. */
  readonly hasOneCaller?: boolean;
  /** Additions to the protocol that the clients of the proxy understand. Default: none. */
  readonly extensions?: readonly ClientExtension[];
}

/** A connection to a server, opened when it is needed, and again after it was lost. */
export class Upstream {
  readonly questions: UnattributedQuestions;
  readonly #entry: ServerEntry;
  readonly #context: CommandContext;
  readonly #events: UpstreamEvents;
  readonly #options: UpstreamOptions;
  #client: Promise<Client> | undefined;
  #link: Link | undefined;
  #unfinished: UnfinishedCalls | undefined;
  #isClosed = false;
  /** Resolves when the process before a restart is gone: two of them may conflict over files or ports. */
  #ended: Promise<void> | undefined;
  /** Called when the server has ended its work on the calls that were cancelled. */
  onSettled: () => void = () => {};

  constructor(entry: ServerEntry, context: CommandContext, events: UpstreamEvents, options: UpstreamOptions = {}) {
    this.#entry = entry;
    this.#context = context;
    this.#events = events;
    this.#options = options;
    this.questions = new UnattributedQuestions(options.hasOneCaller ?? false);
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

  /** True while there is a connection, or one is being opened. */
  get isConnected(): boolean {
    return this.#client !== undefined;
  }

  /** The extensions that its connections declare, with their settings. */
  get extensions(): { readonly [id: string]: JsonObject } {
    const { extensions = [] } = this.#options;
    return Object.fromEntries(extensions.map(({ id, settings = {} }) => [id, settings]));
  }

  /** True if a question of the server does not tell which call it belongs to. Known while it is connected. */
  async hidesCaller(): Promise<boolean> {
    const { era } = (await this.client()).server;
    if (this.#options.hasOneCaller || era === "stateless") return false;
    // Questions of a Streamable HTTP session come on the stream of their call.
    return (this.#link as { readonly sessionId?: string } | undefined)?.sessionId === undefined;
  }

  /** True while the server may work on a cancelled call. Its questions must not reach a client any more. */
  get hasUnfinishedCalls(): boolean {
    return this.#unfinished?.areLeft ?? false;
  }

  /** Ends the connection, and with it all work on cancelled calls. The next call opens a new one. */
  restart(): void {
    const opened = this.#client;
    this.#forget(opened);
    this.#unfinished = undefined;
    const end = async () => (await opened)?.close();
    // The reason of a failure is known to those who use the connection.
    this.#ended = end().catch(() => {});
  }

  /** Returns a further connection to the same server, which changes nothing that clients see. */
  another(): Upstream {
    const { onLog, onStderr } = this.#events;
    const events = { onLog, onStderr, onConnected: () => Promise.resolve() };
    return new Upstream(this.#entry, this.#context, events, this.#options);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const client = await this.#client?.catch(() => undefined);
    await client?.close();
    await this.#ended;
  }

  async #open(): Promise<Client> {
    await this.#ended;
    if (this.#isClosed) throw new Error("closed");
    const { era, connectMs, idleMs } = this.#entry.settings;
    const link = await createLink(this.#entry, this.#context, this.#events.onStderr);
    this.#link = link;
    // All questions to a single client are for the same person.
    this.#unfinished = this.#options.hasOneCaller
      ? undefined
      : new UnfinishedCalls(link, "command" in this.#entry.target, () => this.onSettled());
    const client = await connect(this.#unfinished ?? link, {
      info,
      answers: this.questions.answers,
      // The answers come from the caller, and the server that asked checks them.
      checkForms: false,
      capabilities: { sampling: { tools: {} } },
      logLevel: "debug",
      cache: false,
      ...(this.#options.extensions && { extensions: this.#options.extensions }),
      onLog: this.#events.onLog,
      onNotification: (method, params) => {
        if (method === "notifications/elicitation/complete") this.questions.visited(params["elicitationId"]);
      },
      signal: this.#context.signal,
      ...(era !== undefined && { era }),
      ...(connectMs !== undefined && { connectMs }),
      ...(idleMs !== undefined && { idleMs }),
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
