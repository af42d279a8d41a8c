import { spawn } from "node:child_process";
import type { Socket } from "node:net";
import { join } from "node:path";
import { childEnvironment } from "portolan/client/stdio";
import { holdFileLock } from "portolan/storage/node";
import { type ConfiguredServer, type ServerEntry, trustDigest, trustPlace } from "portolan-host";
import type { CommandContext } from "../command.ts";
import { exitCodes, Failure, type FailureKind } from "../failure.ts";
import { explainStart } from "../servers/explain.ts";
import { requireUsable } from "../servers/host.ts";
import { createLink } from "../servers/link.ts";
import { version } from "../version.ts";
import {
  askWarm,
  connectWarm,
  prepareFolder,
  SocketChannel,
  type WarmReply,
  type WarmRequest,
  type WarmServer,
  warmDigest,
} from "./socket.ts";
import { warmStateFolder } from "./warm-entry.ts";

/** A server is stopped after it was unused for this long. */
export const defaultIdleMs: number = 30 * 60_000;

/** The part of an entry that decides what runs, with all variables expanded. */
interface SentEntry {
  readonly name: string;
  readonly target: object;
  readonly era: string | undefined;
  readonly oauth: unknown;
}

/**
 * Returns an entry that uses the running server if `portolan up` keeps one with the same configuration; otherwise the
 * same entry. A server that is configured to be kept running is started in the background first.
 */
export async function toWarmEntry(context: CommandContext, entry: ServerEntry): Promise<ServerEntry> {
  if (entry.problem !== undefined || "open" in entry.target) return entry;
  const digest = await warmDigest(sentEntry(entry, context));
  const running = (await listWarm(context))?.find((server) => server.digest === digest);
  const server = running ?? (await startConfigured(context, entry));
  if (!server) return entry;
  const open = async () => {
    const socket = await connectWarm(context);
    const reply = socket && (await askWarm(socket, request("use", { digests: [digest] })));
    if (socket && reply?.isOk) {
      if (reply.isStartedAgain === true)
        context.warn(`${entry.name} had ended, and is started again; what it kept in memory is lost`);
      return new SocketChannel(socket);
    }
    // The server was stopped in this moment.
    socket?.destroy();
    return createLink(entry, context);
  };
  // The revision of the server itself, so that nothing differs from a server of our own.
  const { revision: era } = server;
  return { ...entry, target: { open }, settings: { ...entry.settings, ...(era !== undefined && { era }) } };
}

/** Returns which of these servers `portolan up` keeps running, with the same configuration, and the names of all others. */
export async function findRunning(
  context: CommandContext,
  entries: readonly ServerEntry[],
): Promise<{ readonly found: ReadonlySet<ServerEntry>; readonly others: readonly string[] }> {
  const running = new Map((await listWarm(context))?.map(({ digest, name }) => [digest, name]));
  const found = new Set<ServerEntry>();
  for (const entry of running.size === 0 ? [] : entries) {
    if (entry.problem !== undefined || "open" in entry.target) continue;
    // Two entries may describe the same server.
    if (running.has(await warmDigest(sentEntry(entry, context)))) found.add(entry);
  }
  const own = await Promise.all([...found].map((entry) => warmDigest(sentEntry(entry, context))));
  return { found, others: [...running].flatMap(([digest, name]) => (own.includes(digest) ? [] : [name])) };
}

/** Starts a server in the background if its entry says so. A failure is left to the command, which starts it itself. */
async function startConfigured(context: CommandContext, entry: ServerEntry): Promise<WarmServer | undefined> {
  const { env, platform } = context.system;
  if (entry.settings.keepAlive !== true || env["CI"] !== undefined || platform === "win32") return undefined;
  return startWarm(context, entry, defaultIdleMs).catch(() => undefined);
}

/**
 * Returns the servers that are kept running by this version of the command; undefined if there is no such process. The
 * process first ends servers whose stored tokens were changed since.
 */
export async function listWarm(context: CommandContext): Promise<readonly WarmServer[] | undefined> {
  const socket = await connectWarm(context);
  if (!socket) return undefined;
  const reply = await askWarm(socket, request("list"));
  socket.destroy();
  return reply?.isOk ? reply.servers : undefined;
}

/** Starts a server in the background, unless it already runs there. Fails if it is not trusted or does not start. */
export async function startWarm(context: CommandContext, entry: ServerEntry, idleMs: number): Promise<WarmServer> {
  await requireUsable(context, entry);
  const sent = sentEntry(entry, context);
  const digest = await warmDigest(sent);
  const place = await trustPlace(entry);
  const trust = place === undefined ? undefined : { digest: await trustDigest(entry), place };
  const asked = request("start", {
    ...{ digests: [digest], entry: withEnvironment(sent, context), idleMs },
    ...(trust !== undefined && { trust }),
    ...(entry.settings.connectMs !== undefined && { connectMs: entry.settings.connectMs }),
  });
  // A process that ends in this moment, because its last server was unused, gives no reply.
  const reply = (await startOnce(context, asked)) ?? (await startOnce(context, asked));
  const [server] = reply?.servers ?? [];
  if (reply?.isOk && server) return server;
  throw await explainStart(context, entry, failureOf(reply));
}

async function startOnce(context: CommandContext, asked: WarmRequest): Promise<WarmReply | undefined> {
  const { signal } = context;
  signal.throwIfAborted();
  const socket = await connectOrStart(context);
  if (signal.aborted) {
    // Ctrl-C came while the process was being started. It would wait a minute for its first server.
    await askWarm(socket, request("stop", { digests: [] }));
    signal.throwIfAborted();
  }
  const abort = () => void socket.destroy();
  signal.addEventListener("abort", abort, { once: true });
  try {
    // Ctrl-C may have come before there was a socket to close.
    signal.throwIfAborted();
    const reply = await askWarm(socket, asked);
    signal.throwIfAborted();
    return reply;
  } finally {
    signal.removeEventListener("abort", abort);
    socket.destroy();
  }
}

/** Stops servers, or all of them without digests. Returns those that were running; undefined if nothing runs. */
export async function stopWarm(
  context: CommandContext,
  digests?: readonly string[],
): Promise<readonly WarmServer[] | undefined> {
  const socket = await connectWarm(context);
  if (!socket) return undefined;
  const ended = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  const reply = await askWarm(socket, request("stop", digests ? { digests } : {}));
  // The process closes the connection when it has ended all servers that it was told to end.
  socket.resume();
  await ended;
  if (!reply?.isOk) throw failureOf(reply);
  return reply.servers ?? [];
}

/** Stops the servers whose entry is trusted by one of these digests or in this place, wherever they were started. */
export async function stopTrusted(
  context: CommandContext,
  entry: ServerEntry,
  trusted: ReadonlySet<string>,
): Promise<void> {
  const place = await trustPlace(entry);
  const running = (await listWarm(context)) ?? [];
  const isIt = ({ trust }: WarmServer) => trust && (trusted.has(trust.digest) || trust.place === place);
  const digests = running.filter(isIt).map(({ digest }) => digest);
  if (digests.length > 0) await stopWarm(context, digests);
}

function request(what: WarmRequest["do"], more: Partial<WarmRequest> = {}): WarmRequest {
  return { version, do: what, ...more };
}

function failureOf(reply: WarmReply | undefined): Failure {
  const { kind = "failed", message = "the background process ended", next, processEnd } = reply?.error ?? {};
  const known = Object.hasOwn(exitCodes, kind) ? (kind as FailureKind) : "failed";
  // As if the process had been started here.
  const cause = processEnd && Object.assign(new Error(message), { processEnd });
  return new Failure(known, message, { next, cause });
}

function sentEntry(entry: ServerEntry, { system }: CommandContext): SentEntry {
  const { name, target, settings } = entry;
  const { oauth } = entry as Partial<ConfiguredServer>;
  return {
    name,
    target: "command" in target ? { cwd: system.cwd, ...target } : target,
    era: settings.era,
    oauth,
  };
}

/** Adds the variables of this shell that a server gets when a command starts it. */
function withEnvironment(sent: SentEntry, { system }: CommandContext): SentEntry {
  const { target } = sent as { readonly target: { readonly env?: { readonly [name: string]: string } } };
  if (!("command" in target)) return sent;
  return { ...sent, target: { ...target, env: childEnvironment(system.env, target.env, system.platform) } };
}

/** Connects to the background process of this version. Starts it if necessary, and ends one of another version. */
async function connectOrStart(context: CommandContext): Promise<Socket> {
  if (context.system.platform === "win32")
    throw new Failure("usage", "servers cannot be kept running on Windows yet; commands start them each time");
  const folder = warmStateFolder(context.state);
  await prepareFolder(folder);
  const release = await holdFileLock(join(folder, "start.lock"), { onWait: context.state.onWait });
  try {
    const socket = (await connectSameVersion(context)) ?? (await start(context));
    if (socket) return socket;
  } finally {
    release();
  }
  throw new Failure("failed", "the background process ended", { next: "portolan doctor" });
}

async function connectSameVersion(context: CommandContext): Promise<Socket | undefined> {
  const probe = await connectWarm(context);
  if (!probe) return undefined;
  const reply = await askWarm(probe, request("list"));
  probe.destroy();
  if (reply?.isOk) return connectWarm(context);
  await stopWarm(context);
  return undefined;
}

/** Starts the background process, and connects when it listens. */
async function start(context: CommandContext): Promise<Socket | undefined> {
  const { system, state } = context;
  const env = { ...system.env, PORTOLAN_HOME: state.folder };
  const child = spawn(system.execPath, [system.self, "keep-warm"], {
    // A session of its own: it outlives the terminal, and Ctrl-C does not reach it.
    detached: true,
    cwd: state.folder,
    env,
    stdio: ["ignore", "pipe", "ignore"],
  });
  await new Promise<void>((resolve) => {
    child.stdout.once("data", () => resolve());
    child.once("exit", () => resolve()).once("error", () => resolve());
  });
  child.stdout.destroy();
  child.unref();
  return connectWarm(context);
}
