import { statSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import {
  createHost,
  type Host,
  type HostAnswers,
  type HostOptions,
  type RootDefinition,
  type ServerEntry,
  trustDigest,
  trustPlace,
} from "portolan-host";
import { createAnswers } from "../ask/answers.ts";
import type { CommandContext, Flags } from "../command.ts";
import { Failure } from "../failure.ts";
import { viaProxy } from "../http-proxy/choose.ts";
import { describeStarts } from "../output/progress.ts";
import type { Wait } from "../terminal/waits.ts";
import { info } from "../version.ts";
import { explain, explainBlocked, untrusted, withFoundPath, withStray, withWithheld } from "./explain.ts";
import { withRefusal } from "./refusal.ts";
import { authFor } from "./sign-in.ts";

/** The options of `withHost`. */
export interface WithHostOptions extends Omit<HostOptions, "servers" | "storage" | "activity"> {
  /** Asks no questions and opens no browser, even if there is a person. */
  readonly isQuiet?: boolean;
  /** Opens no browser to sign in: a server that needs it is not used. */
  readonly skipsSignIn?: boolean;
  /** The command itself shows which servers it waits for. */
  readonly showsStarts?: boolean;
}

/** Runs `work` with a host over these servers, then closes the host. */
export async function withHost<T>(
  context: CommandContext,
  servers: readonly ServerEntry[],
  work: (host: Host) => Promise<T>,
  { isQuiet = false, skipsSignIn = false, showsStarts = false, ...options }: WithHostOptions = {},
): Promise<T> {
  const { screen, signal, system } = context;
  const answers: HostAnswers = { ...(!isQuiet && createAnswers(context)), ...options.answers };
  const isInteractive = screen.isInteractive && !isQuiet && !skipsSignIn;
  const signIns = new Set<string>();
  const opened = await openHost(context, servers, {
    auth: (entry) =>
      authFor(context, entry, {
        interactive: isInteractive,
        onEvent: ({ kind }) => void (kind === "visiting" ? signIns.add(entry.name) : signIns.delete(entry.name)),
      }),
    ...options,
    answers,
  });
  const { host } = opened;
  const starts = showsStarts ? undefined : showStarts(context, host, signIns);
  const strayLines = watchStrayLines(host);
  // Waiting for a server holds no handle, so this timer keeps the process alive until the work ends.
  const alive = setInterval(() => {}, 2 ** 30);
  try {
    return await untilInterrupted(work(host), signal);
  } catch (reason) {
    const [entry] = servers;
    const failure = explain(reason, host, context, servers);
    if (!entry || servers.length > 1) throw failure;
    if (failure instanceof Failure && failure.kind === "timeout") throw withStray(failure, strayLines.first);
    const found = await withFoundPath(context, entry, failure);
    throw found ?? (await withRefusal(entry, await withWithheld(context, entry, failure), system));
  } finally {
    starts?.end();
    strayLines.end();
    await opened.close();
    clearInterval(alive);
  }
}

/** A host of a command. `close` also closes its log. */
export interface OpenedHost {
  readonly host: Host;
  close(): Promise<void>;
}

/** Creates a host that shares the grants and the log of the user with all commands. */
export async function openHost(
  { state, system }: CommandContext,
  servers: readonly ServerEntry[],
  options: Omit<HostOptions, "servers" | "storage" | "activity">,
): Promise<OpenedHost> {
  const activity = await state.activity();
  const host = await createHost({
    info,
    via: viaProxy(system.env),
    ...options,
    servers: servers.map(withGrace),
    activity,
    storage: { kv: state.kv },
  });
  return {
    host,
    async close() {
      await host.close();
      await activity.close();
    },
  };
}

/**
 * Shortens each step of the shutdown for a person who waits only a short time: a process that neither answers nor ends
 * would keep the command for seconds after `--timeout`.
 */
export function withGrace(entry: ServerEntry): ServerEntry {
  const { target, settings } = entry;
  const { connectMs } = settings;
  if (!("command" in target) || target.graceMs !== undefined || connectMs === undefined) return entry;
  return { ...entry, target: { ...target, graceMs: Math.min(2_000, Math.max(300, connectMs / 4)) } };
}

/** The warning about a line on the standard output of a server that is not a message. */
export const strayLine: RegExp = /expected a JSON object or array|not valid JSON|not valid UTF-8/;

/** Notes the first line of a server that is not a message. */
function watchStrayLines(host: Host): { readonly first: string | undefined; end(): void } {
  const events = host.events({ kinds: ["warning"] });
  const heard: string[] = [];
  // The feed of a host never fails.
  void (async () => {
    for await (const event of events) {
      if (event.kind === "warning" && heard.length === 0 && strayLine.test(event.message)) heard.push(event.message);
    }
  })();
  return {
    get first() {
      return heard[0];
    },
    end: () => void events.return?.(),
  };
}

/** Shows which servers are being started, and at which of them the person has to sign in. */
function showStarts(context: CommandContext, host: Host, signIns: Set<string>): { end(): void } | undefined {
  const { screen, terminal } = context;
  if (!terminal.waits.isVisible) return undefined;
  const events = host.events({ kinds: ["server"] });
  const starting = new Set<string>();
  let wait: Wait | undefined;
  let isEnded = false;
  const describe = () => {
    const at = [...starting].find((name) => signIns.has(name));
    if (at !== undefined) return `waiting for your sign-in at ${screen.safe(at)} in the browser`;
    return describeStarts(context, [...starting]) ?? "";
  };
  const follow = async () => {
    for await (const event of events) {
      if (isEnded) return;
      if (event.kind !== "server") continue;
      if (event.status.state === "starting") starting.add(event.server);
      else {
        starting.delete(event.server);
        signIns.delete(event.server);
      }
      if (starting.size > 0) wait ??= terminal.waits.start(describe);
      else {
        wait?.end();
        wait = undefined;
      }
    }
  };
  // The feed of a host never fails.
  void follow();
  return {
    end() {
      isEnded = true;
      wait?.end();
      void events.return?.();
    },
  };
}

/** Returns the digests by which an entry is trusted: as it is now, and as it was before it was edited. */
export async function findTrusted(host: Host, entry: ServerEntry): Promise<ReadonlySet<string>> {
  const place = await trustPlace(entry);
  const before = host.grants.list().filter((grant) => grant.kind === "trust" && grant.place === place);
  return new Set([await trustDigest(entry), ...before.map(({ serverDigest }) => serverDigest)]);
}

/**
 * Fails if a server may not be started or contacted: it is misconfigured, disabled or not trusted. Commands that use a
 * server without a host call this first.
 */
export async function requireUsable(context: CommandContext, entry: ServerEntry): Promise<void> {
  await withHost(
    context,
    [entry],
    async (host) => {
      for (const status of host.servers) {
        const failure = explainBlocked(status, entry);
        if (failure) throw failure;
        // A state that is added later must not open a server that nobody agreed to.
        if (!host.isTrusted(status.name)) throw untrusted(status);
      }
    },
    { isQuiet: true },
  );
}

/** Returns the folders of `--root`, which servers see if the person agrees. */
export function rootsOf({ system }: CommandContext, { root }: Flags): { roots?: RootDefinition[] } {
  if (!Array.isArray(root)) return {};
  const folders = root.map((folder: string) => {
    const path = resolve(system.cwd, folder);
    // The host would silently leave out a folder that does not exist.
    if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) {
      throw new Failure("usage", `--root: folder not found: ${folder}`);
    }
    return { uri: pathToFileURL(path).href };
  });
  return { roots: folders };
}

/** Rejects at Ctrl-C, even if the work cannot be cancelled. */
function untilInterrupted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const interrupt = () => reject(signal.reason);
    if (signal.aborted) interrupt();
    signal.addEventListener("abort", interrupt, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", interrupt));
  });
}
