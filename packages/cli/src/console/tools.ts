import { PortolanError, type PortolanErrorCode } from "portolan";
import type { ConsoleTools } from "portolan-console";
import type { Host, ServerEntry } from "portolan-host";
import type { CommandContext } from "../command.ts";
import { type FailureKind, toFailure } from "../failure.ts";
import { ConsoleServers } from "./servers.ts";

/** Words by which saved calls name a server of a console, if its entry does not tell them. */
export type SavedTargets = ReadonlyMap<string, string>;

/**
 * Returns what a console takes from the command. `entries` are the servers that its host begins with; `host` returns the
 * host once it is open.
 */
export function createConsoleTools(
  context: CommandContext,
  entries: readonly ServerEntry[],
  host: () => Host | undefined,
  savedTargets: SavedTargets = new Map(),
): ConsoleTools {
  const servers = new ConsoleServers(context, entries, host);
  /** Rejects with an error that the console may show. */
  const shown = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (thrown) {
      throw toShown(context, thrown);
    }
  };
  return {
    findServers: () => shown(servers.find()),
    adopt: (host, name, file) => shown(servers.adopt(host, name, file)),
    add: (host, typed) => shown(servers.add(host, typed)),
    entry(host, name) {
      try {
        return servers.entry(host, name);
      } catch (thrown) {
        throw toShown(context, thrown);
      }
    },
    replace: (host, name, change) => shown(servers.replace(host, name, change)),
    setVariables: (host, name, env) => shown(servers.setVariables(host, name, env)),
    savedTarget(host, name) {
      try {
        return savedTargets.get(name) ?? servers.savedTarget(host, name);
      } catch (thrown) {
        throw toShown(context, thrown);
      }
    },
    async *examine(host, name, options) {
      const { examineForConsole } = await import("./examination.ts");
      try {
        yield* examineForConsole(context, host, servers.get(host, name), options);
      } catch (thrown) {
        throw toShown(context, thrown, options.signal);
      }
    },
    async grade(host, name, onFinding, options) {
      const { gradeForConsole } = await import("./examination.ts");
      const graded = async () => gradeForConsole(context, host, servers.get(host, name), onFinding, options);
      return graded().catch((thrown) => Promise.reject(toShown(context, thrown, options.signal)));
    },
    async signIn(host, name, watch, options) {
      const { signIn } = await import("./sign-in.ts");
      const signed = async () => signIn(context, host, servers.get(host, name), watch, options);
      await signed().catch((thrown) => Promise.reject(toShown(context, thrown, options.signal)));
    },
    async signOut(host, name) {
      const { signOut } = await import("./sign-in.ts");
      await shown((async () => signOut(context, host, servers.get(host, name)))());
    },
  };
}

const codes: { readonly [kind in FailureKind]: PortolanErrorCode } = {
  failed: "server-unavailable",
  usage: "invalid-argument",
  auth: "unauthorized",
  unreachable: "server-unavailable",
  tool: "server-unavailable",
  denied: "denied",
  timeout: "timeout",
  protocol: "answer-invalid",
  interrupted: "cancelled",
};

/** Converts what was thrown to an error with words for a person and the next step, without secrets. */
function toShown({ secrets }: CommandContext, thrown: unknown, signal?: AbortSignal): unknown {
  if (signal?.aborted) return signal.reason;
  const { kind, message, next, cause = thrown } = toFailure(thrown);
  const error = new PortolanError(codes[kind], secrets.hide(message), { cause });
  return next === undefined ? error : Object.assign(error, { next: secrets.hide(next) });
}
