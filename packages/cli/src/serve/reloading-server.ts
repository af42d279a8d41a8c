import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { basename } from "node:path";
import type { LogMessageParams } from "portolan";
import type { Client, ClientExtension } from "portolan/client";
import type { LiveServer, Servable, Server } from "portolan/server";
import { type HttpEndpoint, serveHttp } from "portolan/server/http";
import { tokenVariable, verifierOf } from "portolan/server/main";
import type { ServerEntry } from "portolan-host";
import type { CommandContext } from "../command.ts";
import { Failure, toFailure } from "../failure.ts";
import { type Catalog, catalogOf, listAll } from "../output/catalog.ts";
import { ProxyServer } from "./proxy-server.ts";
import { importLibrary, loadServerFile, serverFrom } from "./server-file.ts";
import { Upstream } from "./upstream.ts";

/** A server file as it was loaded. */
export interface LoadedServer {
  readonly catalog: Catalog;
  /** The files that it consists of. If unknown, every source file of its folder counts. */
  readonly files?: ReadonlySet<string>;
}

/** A server file that is served and can be loaded again. */
export interface ReloadingServer {
  /** Loads the file as it is now. If that fails, clients keep the version before. */
  load(): Promise<LoadedServer>;
  answer(request: IncomingMessage, response: ServerResponse): void;
  close(): Promise<void>;
}

const exportsServer = /\bexport\s+default\b|\bas\s+default\b|\bmodule\.exports\b|\bexports\.default\b/;
/** Such a file would use the standard input and output of this program. */
const servesItself = /\b(serveStdio|runMain)\s*\(|\bStdioServerTransport\b/;

/**
 * Opens a server file: in this process if it exports a server, in a child process if it serves itself. Such a one is told
 * which extensions its clients understand.
 */
export async function openReloadingServer(
  file: string,
  entry: ServerEntry,
  context: CommandContext,
  extensions: readonly ClientExtension[] = [],
): Promise<ReloadingServer> {
  const text = readFileSync(file, "utf8");
  if (servesItself.test(text) || !exportsServer.test(text)) return new ChildProcessServer(entry, context, extensions);
  const [{ live, serveChannel }, { serveHttp }, { logUnhandledRejections }] = await Promise.all([
    importLibrary<typeof import("portolan/server")>(file, "server", context),
    importLibrary<typeof import("portolan/server/http")>(file, "server/http", context),
    importLibrary<typeof import("portolan/server/main")>(file, "server/main", context),
  ]);
  return new InProcessServer(file, context, { live, serveChannel, serveHttp, logUnhandledRejections });
}

type Library = Pick<typeof import("portolan/server"), "live" | "serveChannel"> &
  Pick<typeof import("portolan/server/http"), "serveHttp"> &
  Pick<typeof import("portolan/server/main"), "logUnhandledRejections">;

/** A server in this process. Loading replaces its definition. */
class InProcessServer implements ReloadingServer {
  readonly #file: string;
  readonly #context: CommandContext;
  readonly #library: Library;
  #serving: HttpEndpoint | undefined;
  /** Clients stay connected to this while its definition changes. */
  #live: LiveServer | undefined;

  constructor(file: string, context: CommandContext, library: Library) {
    this.#file = file;
    this.#context = context;
    this.#library = library;
  }

  async load(): Promise<LoadedServer> {
    const loaded = await loadServerFile(this.#file, this.#context, { isFresh: true });
    const server = await serverFrom(loaded, basename(this.#file));
    if (!server) throw new Failure("usage", `${this.#file}: expected a server as the default export`);
    const catalog = await catalogOf(server, this.#library);
    await this.#serve(server);
    return { catalog, files: new Set(loaded.files) };
  }

  answer(request: IncomingMessage, response: ServerResponse): void {
    this.#serving?.node(request, response);
  }

  async close(): Promise<void> {
    await this.#serving?.close();
  }

  async #serve(server: Servable): Promise<void> {
    // A live server changes by itself, so it replaces the one before.
    const isLive = "update" in server;
    if (!isLive && this.#live) {
      await this.#live.update(() => server as Server);
      return;
    }
    const before = this.#serving;
    // An older copy of the library does not have the function.
    if (!before) this.#library.logUnhandledRejections?.("portolan dev", server);
    this.#live = isLive ? undefined : this.#library.live(server as Server);
    this.#serving = this.#library.serveHttp(this.#live ?? server, verifierOf(this.#context.system.env[tokenVariable]));
    await before?.close(0);
  }
}

/** A server in a child process, behind a proxy server. */
class ChildProcessServer implements ReloadingServer {
  readonly #entry: ServerEntry;
  readonly #context: CommandContext;
  readonly #extensions: readonly ClientExtension[];
  readonly #proxy: ProxyServer;
  #upstream: Upstream | undefined;
  #serving: HttpEndpoint | undefined;

  constructor(entry: ServerEntry, context: CommandContext, extensions: readonly ClientExtension[]) {
    this.#entry = entry;
    this.#context = context;
    this.#extensions = extensions;
    this.#proxy = new ProxyServer((error) => context.warn(toFailure(error).message));
  }

  async load(): Promise<LoadedServer> {
    const { system } = this.#context;
    const events = {
      onLog: (message: LogMessageParams) => this.#proxy.log(message),
      onConnected: (client: Client) => this.#proxy.follow(client, next),
      onStderr: this.#context.forwardStderr,
    };
    const next: Upstream = new Upstream(this.#entry, this.#context, events, { extensions: this.#extensions });
    // The proxy server reports the lists that fail.
    const catalog = await listAll(await next.client(), { onFailure() {}, onInvalid() {} });
    const before = this.#upstream;
    this.#upstream = next;
    this.#serving ??= serveHttp(this.#proxy.server, verifierOf(system.env[tokenVariable]));
    await before?.close();
    return { catalog };
  }

  answer(request: IncomingMessage, response: ServerResponse): void {
    this.#serving?.node(request, response);
  }

  async close(): Promise<void> {
    await this.#serving?.close();
    await this.#proxy.close();
    await this.#upstream?.close();
  }
}
