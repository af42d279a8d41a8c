import { onAbort } from "../async.ts";
import type { Channel } from "../jsonrpc/channel.ts";
import { checkNumbers, checkOptions, type OptionNames } from "../options.ts";
import type { Client } from "./api.ts";
import { channelLink, type Link } from "./channel-link.ts";
import { asClient, ConnectedClient } from "./client.ts";
import { ClientConnection } from "./connection.ts";
import { aborted, silent, toError } from "./failures.ts";
import { defaultConnectMs } from "./limits.ts";
import { loadHandshake, negotiate } from "./negotiate.ts";
import type { CommandTarget, ConnectOptions } from "./options.ts";

/** A server to connect to: an http address, a command to start, a link, or a channel to a server that runs already. */
export type ConnectTarget = string | URL | CommandTarget | Link | Channel;

/**
 * Connects to a server and agrees on a revision with it. `S` is the type of the server's definition, if there is one:
 * `connect<typeof server>(…)` knows the tools, their arguments and their results.
 */
export async function connect<S = unknown>(target: ConnectTarget, options: ConnectOptions = {}): Promise<Client<S>> {
  checkOptions(options, connectOptions, "connect", { synonyms });
  checkNumbers(options, "probeMs", "connectMs", "idleMs", "totalMs");
  const { signal } = options;
  if (signal?.aborted) throw aborted("connect", signal, false);
  const bare = await toLink(target, options);
  let link = bare;
  if (options.tap) link = (await import("./tapped-link.ts")).tapLink(link, options.tap, () => connection);
  if (options.observer) link = (await import("./observed-link.ts")).observeLink(link, options, bare);
  const connection = new ClientConnection(link, options);
  if (options.extensions) (await import("./active-extensions.ts")).activate(connection, options.extensions);
  const eraCache = options.eraCache && (await import("./era-cache.ts")).openEraCache(connection, target);
  try {
    const server = await withTimeout(connection, negotiate(connection, eraCache));
    const client = new ConnectedClient(connection, server);
    if (options.logLevel !== undefined && server.capabilities.logging) {
      await (await loadHandshake()).setFirstLogLevel(client, connection, options.logLevel);
    }
    connection.extensions?.connected(asClient(client));
    return asClient<S>(client);
  } catch (reason) {
    // Set before the link closes: a negotiation that still runs must not open the link again.
    connection.isClosing = true;
    await link.close();
    throw reason;
  }
}

const connectOptions = {
  info: 1,
  answers: 1,
  checkForms: 1,
  auth: 1,
  capabilities: 1,
  extensions: 1,
  era: 1,
  eraCache: 1,
  eraCacheKey: 1,
  probeMs: 1,
  connectMs: 1,
  idleMs: 1,
  totalMs: 1,
  logLevel: 1,
  cache: 1,
  principal: 1,
  onLog: 1,
  onNotification: 1,
  onError: 1,
  observer: 1,
  tap: 1,
  signal: 1,
  clock: 1,
} satisfies OptionNames<ConnectOptions>;
const synonyms = {
  revision: "era",
  version: "era",
  protocolVersion: "era",
  timeout: "idleMs",
  clientInfo: "info",
  headers: "connect(http(url, { headers }))",
  onStderr: "connect({ command, onStderr })",
};

async function toLink(target: ConnectTarget, { auth }: ConnectOptions): Promise<Link> {
  if (typeof target === "string" || target instanceof URL) {
    return (await import("./http/index.ts")).http(target, auth && { auth });
  }
  if (auth === undefined && typeof target === "object" && target !== null) {
    if ("exchange" in target) return target;
    if ("send" in target) return channelLink(target);
    if (typeof target.command === "string") return (await import("#client-stdio")).stdio(target);
  }
  throw (await import("./era-cache.ts")).unusableTarget(target, auth);
}

/** Rejects when the attempt takes longer than `connectMs`, or the caller aborts it. */
function withTimeout<T>(connection: ClientConnection, attempt: Promise<T>): Promise<T> {
  const { connectMs = defaultConnectMs, signal } = connection.options;
  return new Promise((resolve, reject) => {
    const fail = (reason: Error) => {
      stop();
      reject(reason);
    };
    let stopTimer: () => void;
    const expire = () => {
      // A person who signs in may take longer than a server.
      if (connection.isAwaitingLogin) startTimer();
      else {
        const why = `connect: the server did not answer within ${connectMs} ms`;
        silent(connection.link, why, "; raise connectMs if it starts slowly").then(fail);
      }
    };
    const startTimer = () => {
      stopTimer = connection.clock.after(connectMs, expire);
    };
    const stopWaiting = signal && onAbort(signal, () => fail(aborted("connect", signal, true)));
    const stop = () => {
      stopTimer();
      stopWaiting?.();
    };
    startTimer();
    attempt.then(
      (value) => {
        stop();
        resolve(value);
      },
      (reason) => fail(toError(reason)),
    );
  });
}
