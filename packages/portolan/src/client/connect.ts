import { nameOf, PortolanError } from "../errors.ts";
import type { Channel } from "../jsonrpc/channel.ts";
import { revisions } from "../protocol/revisions/index.ts";
import type { Client, ServerProfile } from "./api.ts";
import { channelLink, type Link } from "./channel-link.ts";
import { ConnectedClient, faceOf } from "./client.ts";
import { ClientConnection } from "./connection.ts";
import type { EraCache } from "./era-cache.ts";
import { aborted, timedOut, toError } from "./failures.ts";
import { negotiate } from "./negotiate.ts";
import type { CommandTarget, ConnectOptions } from "./options.ts";

/** What can be connected to: an http address, a command to start, a link, or a channel to a server that runs already. */
export type ConnectTarget = string | URL | CommandTarget | Link | Channel;

const defaultConnectMs = 60_000;

/**
 * Connects to a server and finds out which revision it speaks. `S` is the type of its definition, if there is one:
 * `connect<typeof server>(…)` knows the tools, their arguments and their results.
 */
export async function connect<S = unknown>(target: ConnectTarget, options: ConnectOptions = {}): Promise<Client<S>> {
  const { signal } = options;
  if (signal?.aborted) throw aborted("connect", signal, false);
  const link = await toLink(target, options);
  const wire = new ClientConnection(link, options);
  const verdicts = await verdictsFor(wire, target);
  try {
    const server = await inTime(wire, settle(wire, verdicts));
    const client = new ConnectedClient(wire, server);
    if (options.logLevel !== undefined && server.era === "stateful" && server.capabilities.logging) {
      await client.setLogLevel(options.logLevel);
    }
    return faceOf<S>(client);
  } catch (reason) {
    // Before it is closed: whoever still finds out what the server speaks must not open it again.
    wire.isClosing = true;
    await link.close();
    throw reason;
  }
}

async function toLink(target: ConnectTarget, { auth }: ConnectOptions): Promise<Link> {
  if (typeof target === "string" || target instanceof URL) {
    return (await import("./http/index.ts")).http(target, auth && { auth });
  }
  if (auth !== undefined) {
    throw new PortolanError(
      "invalid-argument",
      "auth: expected an http address to connect to; a link has its own, and a command gets its credentials by `env`",
    );
  }
  if (typeof target === "object" && target !== null && "exchange" in target) return target;
  return linkTo(target);
}

/** Opens the link and agrees on a revision, from memory where there is one. */
async function settle(wire: ClientConnection, verdicts: EraCache | undefined): Promise<ServerProfile> {
  const { era = "auto" } = wire.options;
  const remembered = era === "auto" ? await verdicts?.read() : undefined;
  await wire.open();
  if (remembered?.era === "stateless") {
    // If it is wrong, the first answer is an error, and the next connection finds out.
    wire.firstAnswer = (response) => {
      wire.firstAnswer = undefined;
      if ("error" in response) verdicts?.forget();
    };
    return remember(wire, remembered);
  }
  const evidence = await negotiate(wire, remembered ? remembered.era : era).catch(async (reason) => {
    if (!remembered) throw reason;
    // It was another server then.
    await verdicts?.forget();
    if (wire.lostBy) await wire.open();
    return negotiate(wire, era);
  });
  const { profile } = wire;
  if (!profile) throw new Error("negotiation ends with a profile");
  if (evidence === "answer") await verdicts?.keep(profile);
  return profile;
}

/** What a server said the last time needs no question. */
function remember(wire: ClientConnection, profile: ServerProfile): ServerProfile {
  const revision = revisions.find(({ version }) => version === profile.version);
  if (!revision) throw new Error("a verdict names a known version");
  wire.settle(revision);
  wire.profile = profile;
  return profile;
}

async function verdictsFor(wire: ClientConnection, target: ConnectTarget): Promise<EraCache | undefined> {
  const { verdicts, verdictKey } = wire.options;
  const key = verdictKey ?? nameOfTarget(target);
  if (!verdicts || key === undefined) return undefined;
  const { EraCache } = await import("./era-cache.ts");
  return new EraCache(verdicts, key, (error) => wire.report(error));
}

/** What a target is called among the verdicts; links and channels have no name of their own. */
function nameOfTarget(target: ConnectTarget): string | undefined {
  if (typeof target === "string" || target instanceof URL) return String(target);
  return "command" in target ? JSON.stringify([target.command, target.args ?? []]) : undefined;
}

/** Ends an attempt that takes too long or that the caller gives up. */
function inTime<T>(wire: ClientConnection, attempt: Promise<T>): Promise<T> {
  const { connectMs = defaultConnectMs, signal } = wire.options;
  return new Promise((resolve, reject) => {
    const fail = (reason: Error) => {
      stop();
      reject(reason);
    };
    let stopTimer: () => void;
    const expire = () => {
      // Whoever signs in takes the time that it takes.
      if (wire.isHeld) watch();
      else {
        const why = `connect: the server has not answered in ${connectMs} ms; raise connectMs if it is slow to start`;
        fail(timedOut(why));
      }
    };
    const watch = () => {
      stopTimer = wire.clock.after(connectMs, expire);
    };
    const abort = () => fail(aborted("connect", signal as AbortSignal, true));
    const stop = () => {
      stopTimer();
      signal?.removeEventListener("abort", abort);
    };
    watch();
    signal?.addEventListener("abort", abort, { once: true });
    attempt.then(
      (value) => {
        stop();
        resolve(value);
      },
      (reason) => fail(toError(reason)),
    );
  });
}

/** A link to what is neither a link itself nor an address; throws for what cannot be connected to. */
export async function linkTo(target: CommandTarget | Channel): Promise<Link> {
  if (typeof target === "object" && target !== null) {
    if ("send" in target) return channelLink(target);
    if (typeof target.command === "string") return (await import("#client-stdio")).stdio(target);
  }
  throw new PortolanError(
    "invalid-argument",
    `connect: expected an http address, { command, args }, a link or a channel, got ${nameOf(target)}`,
  );
}
