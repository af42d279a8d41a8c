import { chmod, rm, writeFile } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { fileStore, type OAuthOptions } from "portolan/auth/client";
import { tasks as clientTasks } from "portolan/client/tasks";
import { type ServedChannel, serveChannel } from "portolan/server";
import { tasks as serverTasks } from "portolan/server/tasks";
import type { ServerEntry } from "portolan-host";
import type { CommandContext } from "../command.ts";
import { Failure, processEndOf, toFailure } from "../failure.ts";
import { ProxyServer } from "../serve/proxy-server.ts";
import { Upstream } from "../serve/upstream.ts";
import { version } from "../version.ts";
import {
  prepareFolder,
  readLine,
  SocketChannel,
  socketIn,
  type WarmReply,
  type WarmRequest,
  type WarmServer,
  warmFolder,
} from "./socket.ts";
import { TrackedTokens } from "./tracked-tokens.ts";
import { pidFile } from "./warm-entry.ts";

/** A running server with the commands that use it. */
interface RunningServer {
  readonly name: string;
  readonly digest: string;
  /** The request that started it. */
  readonly asked: WarmRequest;
  readonly tokens: TrackedTokens;
  readonly startedAt: number;
  readonly proxy: ProxyServer;
  readonly upstream: Upstream;
  /** Resolves when the server has answered for the first time. */
  readonly ready: Promise<unknown>;
  readonly channels: Set<ServedChannel>;
  /** Ends a start that is not finished. */
  readonly starting: AbortController;
  revision: string | undefined;
  idleMs: number;
  idleTimer: NodeJS.Timeout | undefined;
}

/** A task ends after this time. Its result can be fetched until then. */
const maxTaskMs = 24 * 60 * 60_000;

/** A process that has no server after this time ends. */
const firstServerMs = 60_000;

/** A command waits for a server whose tokens change so often while it is being started. */
const maxRestarts = 3;

/** Keeps servers running for the commands of one user, until they are stopped or unused for a while. */
export class Keeper {
  readonly #context: CommandContext;
  readonly #servers = new Map<string, RunningServer>();
  readonly #sockets = new Set<Socket>();
  readonly #listener = createServer((socket) => this.#accept(socket));
  readonly #ended: Promise<void>;
  #end: () => void = () => {};
  /** The checks of stored tokens, one after another. */
  #checking: Promise<void> = Promise.resolve();

  constructor(context: CommandContext) {
    this.#context = context;
    this.#ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  /** Listens until the last server is stopped. `onReady` is called when commands can connect. */
  async run(onReady: () => void): Promise<void> {
    const folder = await warmFolder(this.#context);
    await prepareFolder(folder);
    const path = socketIn(folder);
    const pid = pidFile(this.#context.state);
    // The starter holds a lock and found no process that answers, so this is the socket of one that was killed.
    await rm(path, { force: true });
    await new Promise<void>((resolve, reject) => this.#listener.once("error", reject).listen(path, resolve));
    await chmod(path, 0o600);
    await writeFile(pid, `${this.#context.system.pid}\n`, { mode: 0o600 });
    onReady();
    // The command that started this process may have been interrupted before it connected.
    const unused = setTimeout(() => this.#endIfEmpty(), firstServerMs);
    await Promise.race([this.#ended, this.#context.untilStopped()]);
    clearTimeout(unused);
    this.#listener.close();
    await Promise.all([rm(path, { force: true }), rm(pid, { force: true })]);
    await Promise.all([...this.#servers.values()].map((server) => this.#stop(server)));
    for (const socket of this.#sockets) socket.destroy();
  }

  #accept(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => this.#sockets.delete(socket));
    this.#answer(socket).catch(() => socket.destroy());
  }

  async #answer(socket: Socket): Promise<void> {
    const line = await readLine(socket);
    if (line === undefined) {
      // The command that started this process may have been interrupted before it asked for a server.
      this.#sockets.delete(socket);
      if (this.#sockets.size === 0) this.#endIfEmpty();
      return;
    }
    const asked = JSON.parse(line) as WarmRequest;
    const [digest = ""] = asked.digests ?? [];
    // A newer or older command must not speak to servers through this one, but may end it.
    const isSame = asked.version === version;
    if (asked.do === "stop") return this.#answerStop(socket, asked);
    if (!isSame) return this.#reply(socket, { isOk: false });
    await this.#checkTokens();
    if (asked.do === "list") return this.#reply(socket, { isOk: true, servers: this.#list() });
    if (asked.do === "start") return this.#answerStart(socket, digest, asked);
    const server = await this.#untilReady(digest);
    if (!server) return this.#reply(socket, { isOk: false });
    // Before the reply: the client may speak at once.
    clearTimeout(server.idleTimer);
    socket.write(this.#replyLine({ isOk: true, ...(!server.upstream.isConnected && { isStartedAgain: true }) }));
    const serving = serveChannel(server.proxy.server, new SocketChannel(socket));
    server.channels.add(serving);
    await serving.closed;
    server.channels.delete(serving);
    this.#scheduleIdle(server);
  }

  /**
   * Ends every server whose stored tokens another process has changed: after a sign-out, or a sign-in as somebody else,
   * no call may act as the person of before. A server that still has tokens is started again, with the new ones.
   */
  #checkTokens(): Promise<void> {
    const check = async () => {
      // A server that is being started may be renewing its tokens. It is checked when it is ready.
      const started = [...this.#servers.values()].filter(({ revision }) => revision !== undefined);
      for (const server of started) {
        const change = await server.tokens.change();
        if (change === undefined) continue;
        await this.#stop(server);
        if (change === "replaced" && !this.#servers.has(server.digest)) this.#startAgain(server);
        this.#endIfEmpty();
      }
    };
    this.#checking = this.#checking.then(check, check);
    return this.#checking;
  }

  /** Returns the server when it has answered, with the tokens of now; undefined if there is none. */
  async #untilReady(digest: string): Promise<RunningServer | undefined> {
    for (let tries = 0; tries < maxRestarts; tries += 1) {
      const server = this.#servers.get(digest);
      if (!server) return undefined;
      await server.ready;
      await this.#checkTokens();
      if (this.#servers.get(digest) === server) return server;
    }
    return undefined;
  }

  #startAgain({ digest, asked }: RunningServer): void {
    const server = this.#start(digest, asked);
    server.ready.then(
      () => this.#scheduleIdle(server),
      () => this.#stop(server).then(() => this.#endIfEmpty(), this.#end),
    );
  }

  async #answerStart(socket: Socket, digest: string, asked: WarmRequest): Promise<void> {
    // The command was interrupted before this request was read.
    if (socket.destroyed) return this.#endIfEmpty();
    const { idleMs = 0 } = asked;
    const known = this.#servers.get(digest);
    let server = known ?? this.#start(digest, asked);
    // The start is only for the command that asked for it.
    const abandon = () => server.starting.abort();
    if (!known) socket.once("close", abandon);
    try {
      const ready = await this.#untilReady(digest);
      socket.off("close", abandon);
      if (!ready) throw new Failure("failed", `${server.name} was stopped, or signed out, while it was being started`);
      server = ready;
      server.idleMs = idleMs;
      this.#scheduleIdle(server);
      this.#reply(socket, { isOk: true, servers: [describe(server)] });
    } catch (reason) {
      const { kind, message, next } = toFailure(reason);
      const processEnd = processEndOf(reason);
      const error = { kind, message, ...(next !== undefined && { next }), ...(processEnd && { processEnd }) };
      this.#reply(socket, { isOk: false, error });
      await this.#stop(server);
      this.#endIfEmpty();
    }
  }

  async #answerStop(socket: Socket, { digests }: WarmRequest): Promise<void> {
    const stopped = [...this.#servers.values()].filter(({ digest }) => digests?.includes(digest) ?? true);
    const servers = stopped.map(describe);
    await Promise.all(stopped.map((server) => this.#stop(server)));
    this.#reply(socket, { isOk: true, servers });
    this.#endIfEmpty();
  }

  #start(digest: string, asked: WarmRequest): RunningServer {
    const sent = asked.entry as ServerEntry & { readonly era?: string };
    const { name, target, era } = sent;
    const { state } = this.#context;
    const tokens = new TrackedTokens(fileStore(state.credentials, { onWait: state.onWait }));
    const { connectMs } = asked;
    const settings = { ...(era !== undefined && { era }), ...(connectMs !== undefined && { connectMs }) };
    const entry: ServerEntry = { ...sent, target, configured: target, settings, source: { kind: "code" } };
    // Problems of a server are told by the commands that use it.
    const proxy = new ProxyServer(() => {}, serverTasks({ ttlMs: maxTaskMs, maxTtlMs: maxTaskMs }));
    const starting = new AbortController();
    const context = {
      ...this.#context,
      signal: AbortSignal.any([this.#context.signal, starting.signal]),
      state: { ...state, auth: (options?: OAuthOptions) => state.auth({ ...options, store: tokens }) },
    };
    const upstream: Upstream = new Upstream(
      entry,
      context,
      {
        onLog: (message) => proxy.log(message),
        async onConnected(client) {
          await proxy.follow(client, upstream);
          server.revision = client.server.version;
        },
        onStderr: () => {},
      },
      { extensions: [clientTasks()] },
    );
    const server: RunningServer = {
      ...{ name, digest, asked, tokens, proxy, upstream, starting, idleTimer: undefined, revision: undefined },
      idleMs: asked.idleMs ?? 0,
      startedAt: Date.now(),
      ready: upstream.client(),
      channels: new Set(),
    };
    this.#servers.set(digest, server);
    return server;
  }

  async #stop(server: RunningServer): Promise<void> {
    this.#servers.delete(server.digest);
    clearTimeout(server.idleTimer);
    server.starting.abort();
    await Promise.all([...server.channels].map((serving) => serving.close()));
    await server.proxy.close();
    await server.upstream.close();
  }

  #scheduleIdle(server: RunningServer): void {
    clearTimeout(server.idleTimer);
    if (server.channels.size > 0 || !this.#servers.has(server.digest)) return;
    server.idleTimer = setTimeout(() => {
      // A task needs its server, although no command is connected.
      if (server.proxy.isBusy) return this.#scheduleIdle(server);
      this.#stop(server).then(() => this.#endIfEmpty(), this.#end);
    }, server.idleMs);
  }

  #endIfEmpty(): void {
    if (this.#servers.size === 0) this.#end();
  }

  #list(): WarmServer[] {
    return [...this.#servers.values()].map(describe);
  }

  #replyLine(reply: Omit<WarmReply, "version" | "pid">): string {
    return `${JSON.stringify({ version, pid: this.#context.system.pid, ...reply } satisfies WarmReply)}\n`;
  }

  #reply(socket: Socket, reply: Omit<WarmReply, "version" | "pid">): void {
    socket.end(this.#replyLine(reply));
  }
}

function describe({ name, digest, asked, idleMs, channels, startedAt, revision }: RunningServer): WarmServer {
  return { name, digest, trust: asked.trust, idleMs, uses: channels.size, startedAt, revision };
}
