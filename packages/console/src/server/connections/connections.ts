import { rmSync } from "node:fs";
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { PortolanError } from "portolan";
import type { TapEvent } from "portolan/client";
import type { HostEvent } from "portolan-host";
import type { ConnectionFacts, ConnectionRecord, MessageRow } from "../../api.ts";
import type { ConsoleBase } from "../base.ts";
import { ApiRefusal, messageOf } from "../failure.ts";
import { makePrivateFolder } from "../files.ts";
import { batchMs, maxAllSpoolBytes, maxClosedConnections, pageRows } from "../limits.ts";
import { Connection, type NewConnection } from "./connection.ts";
import { Spool } from "./spool.ts";

/** A message, with the connection and the server that it belongs to. */
export type FoundMessage = MessageRow & { readonly connection: string; readonly server: string };

/** All connections whose messages are kept. */
export class Connections {
  readonly #folder: string;
  readonly #parent: string;
  readonly #all = new Map<string, Connection>();
  readonly #base: ConsoleBase;
  readonly #callOf: (label: string) => string | undefined;
  /** Ends the opening or the connection, by its id. */
  readonly #close = new Map<string, () => Promise<void>>();
  /** Rows that are sent together. */
  readonly #rows = new Map<string, MessageRow[]>();
  #timer: NodeJS.Timeout | undefined;
  /** Hears events of the host's own connections, such as a recording. */
  readonly taps: Set<(server: string, event: TapEvent) => void> = new Set();

  /** `callOf` returns the record of a call, by its label. The host is created later, with the tap of these connections. */
  constructor(base: ConsoleBase, callOf: (label: string) => string | undefined) {
    this.#parent = join(base.options.folder, "spool");
    this.#folder = join(this.#parent, base.boot);
    this.#base = base;
    this.#callOf = callOf;
  }

  /** Removes what a crash has left. */
  async load(): Promise<void> {
    await makePrivateFolder(this.#parent);
    const left = await readdir(this.#parent);
    await Promise.all(left.map((name) => rm(join(this.#parent, name), { recursive: true, force: true })));
    await mkdir(this.#folder, { mode: 0o700 });
  }

  get all(): readonly ConnectionRecord[] {
    return [...this.#all.values()].map(({ record }) => record);
  }

  get connections(): Iterable<Connection> {
    return this.#all.values();
  }

  get(id: string): Connection {
    const found = this.#all.get(id);
    if (!found) throw new ApiRefusal("not-found", "There is no such connection.");
    return found;
  }

  /** Hears the host's own connections; others have a tap of their own. */
  tap = (server: string, connection: string, event: TapEvent): void => {
    if (connection !== "main") return;
    for (const tap of this.taps) tap(server, event);
    const main = this.#main(server);
    main.hear(event);
    if (event.kind === "link") {
      const { state, reason } = event;
      main.set({
        state:
          state === "open" || state === "renewed" || state === "interrupted"
            ? "open"
            : state === "login"
              ? "opening"
              : "closed",
        ...(reason !== undefined && { reason }),
      });
      this.#show(main);
    }
  };

  hear(event: HostEvent): void {
    if (event.kind !== "server") return;
    const main = this.#all.get(mainId(event.server));
    if (!main) return;
    const { profile, pid } = event.status;
    const { version: revision } = profile ?? {};
    if (main.record.revision === revision && main.record.pid === pid) return;
    main.set({ ...(revision !== undefined && { revision }), ...(pid !== undefined && { pid }) });
    this.#show(main);
  }

  /** Opens a connection of its own. Its course comes as events. */
  open(server: string, revision: string | undefined): string {
    const { host } = this.#base;
    const stop = new AbortController();
    const connection = this.add({ id: crypto.randomUUID(), server, isMain: false, state: "opening" });
    const { id } = connection.record;
    this.#close.set(id, async () => stop.abort(new PortolanError("cancelled", "closed by the user")));
    const opening = host.open(server, {
      ...(revision !== undefined && { era: revision }),
      signal: stop.signal,
      tap: (event) => connection.hear(event),
    });
    opening.then(
      (opened) => {
        const { client, pid } = opened;
        connection.client = client;
        connection.set({ state: "open", revision: client.server.version, ...(pid !== undefined && { pid }) });
        this.#close.set(id, () => opened.close());
        this.#show(connection);
        void client.closed.then((reason) => this.#ended(connection, "closed", reason && messageOf(reason)));
      },
      (reason) => this.#ended(connection, "failed", messageOf(reason)),
    );
    return id;
  }

  /** Adds a connection whose events come from elsewhere, such as from a recording. */
  add(record: NewConnection): Connection {
    this.#forgetClosed();
    const spool = new Spool(this.#folder, crypto.randomUUID());
    const connection = new Connection(
      record,
      spool,
      (row) => this.#addRow(record.id, row),
      (label) => this.#callOf(label),
    );
    this.#all.set(record.id, connection);
    this.#show(connection);
    return connection;
  }

  async close(id: string): Promise<void> {
    const connection = this.get(id);
    if (connection.record.isMain) {
      throw new ApiRefusal("invalid", "The connection of the host ends with its server.", { next: "Stop the server." });
    }
    await this.#close.get(id)?.();
    if (connection.record.state !== "open") return;
    this.#ended(connection, "closed", undefined);
  }

  show(connection: Connection): void {
    this.#show(connection);
  }

  facts(id: string): ConnectionFacts {
    const connection = this.get(id);
    const { record, client, told } = connection;
    const { host } = this.#base;
    const profile = client?.server ?? host.servers.find(({ name }) => name === record.server)?.profile;
    const { info, instructions, capabilities = {} } = profile ?? {};
    return {
      ...record,
      peer: {
        capabilities,
        ...(info && { name: info.name, version: info.version }),
        ...(instructions !== undefined && { instructions }),
      },
      client: {
        name: told?.name ?? "portolan",
        version: told?.version ?? "",
        capabilities: client?.offered ?? told?.capabilities ?? {},
      },
    };
  }

  /** Finds messages of all connections, the newest first. */
  async find(text: string, limit: number = pageRows): Promise<readonly FoundMessage[]> {
    const rows: FoundMessage[] = [];
    for (const connection of this.#all.values()) {
      const { id, server } = connection.record;
      const found = await connection.page({ limit, filter: { text } });
      rows.push(...found.map((row) => ({ ...row, connection: id, server })));
    }
    return rows.sort((one, other) => other.at - one.at).slice(0, limit);
  }

  async end(): Promise<void> {
    clearTimeout(this.#timer);
    await Promise.allSettled([...this.#close.values()].map((close) => close()));
    for (const { spool } of this.#all.values()) spool.remove();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #main(server: string): Connection {
    const id = mainId(server);
    return this.#all.get(id) ?? this.add({ id, server, isMain: true, state: "opening" });
  }

  #ended(connection: Connection, state: "closed" | "failed", reason: string | undefined): void {
    const { id } = connection.record;
    this.#close.delete(id);
    connection.client = undefined;
    if (connection.record.state === "closed" || connection.record.state === "failed") return;
    connection.set({ state, ...(reason !== undefined && { reason }) });
    this.#show(connection);
  }

  #addRow(id: string, row: MessageRow): void {
    const rows = this.#rows.get(id);
    if (rows) rows.push(row);
    else this.#rows.set(id, [row]);
    this.#timer ??= setTimeout(() => this.#sendRows(), batchMs);
  }

  #sendRows(): void {
    this.#timer = undefined;
    const { publish } = this.#base;
    for (const [connection, rows] of this.#rows) {
      for (let from = 0; from < rows.length; from += pageRows) {
        publish({ kind: "messages", connection, rows: rows.slice(from, from + pageRows) });
      }
    }
    this.#rows.clear();
    let bytes = 0;
    for (const { spool } of this.#all.values()) bytes += spool.bytes;
    if (bytes <= maxAllSpoolBytes) return;
    const [largest] = [...this.#all.values()].sort((one, other) => other.spool.bytes - one.spool.bytes);
    largest?.spool.dropOldest();
  }

  #show({ record }: Connection): void {
    this.#base.publish({ kind: "connection", connection: record });
  }

  /** Forgets the messages of connections that ended long ago. */
  #forgetClosed(): void {
    const closed = [...this.#all.values()].filter(({ record: { isMain, state } }) => {
      return !isMain && (state === "closed" || state === "failed");
    });
    for (const { record, spool } of closed.slice(0, Math.max(0, closed.length - maxClosedConnections))) {
      this.#all.delete(record.id);
      spool.remove();
    }
  }
}

/** The id of the host's own connection to a server. */
export function mainId(server: string): string {
  return `main.${server}`;
}
