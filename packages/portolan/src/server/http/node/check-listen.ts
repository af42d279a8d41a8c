// Loaded late: the failures and the less usual settings of `listen`.
import { nameOf, PortolanError } from "../../../errors.ts";
import { checkOptions, type OptionNames } from "../../../options.ts";
import { unexpected } from "../../define/check.ts";
import { toLines } from "../../print-error.ts";
import type { ServerRuntime } from "../../runtime.ts";
import { isSafeBinding, type ServeHttpOptions } from "../options.ts";
import type { ListenSettings } from "../serve-http.ts";

const settingNames = { signals: 1, drainMs: 1, readyPath: 1 } satisfies OptionNames<ListenSettings>;

/** Does all that `checkListen` promises. */
export async function checkAll(
  port: unknown,
  host: unknown,
  settings: ListenSettings | undefined,
  options: ServeHttpOptions,
  runtime: ServerRuntime,
): Promise<void> {
  checkArguments(port, host, settings);
  if (typeof host === "string" && !isSafeBinding(host, options)) throw unsafeBinding(host);
  if (options.card) (await import("../card.ts")).toServerCard(options, runtime);
  await warnOfInstances(options, runtime);
}

/** Throws if the arguments of `listen` are not a port, a host and known options. */
function checkArguments(port: unknown, host: unknown, settings: ListenSettings = {}): void {
  const where = "listen(port, host, { signals })";
  const code = "invalid-argument";
  if (typeof port !== "number") throw unexpected(`${where}: port`, "a number", port, code);
  if (typeof host !== "string") throw unexpected(`${where}: host`, 'a string such as "127.0.0.1"', host, code);
  if (typeof settings !== "object" || settings === null)
    throw unexpected(where, "options as an object", settings, code);
  checkOptions(settings, settingNames, "listen");
  const { drainMs = 0, readyPath = "/" } = settings;
  if (!(drainMs >= 0)) throw unexpected("listen: drainMs", "a time in milliseconds", drainMs, code);
  if (!readyPath.startsWith("/")) throw unexpected("listen: readyPath", 'a path such as "/ready"', readyPath, code);
}

/** Returns the error for a failed `listen`, with what to do. */
export function cannotListen(error: NodeJS.ErrnoException, port: number, host: string): PortolanError {
  return new PortolanError("invalid-argument", `listen: ${whyNot(error, port, host)}`, { cause: error });
}

function whyNot(error: NodeJS.ErrnoException, port: number, host: string): string {
  switch (error.code) {
    case "EADDRINUSE":
      return `port ${port} of ${host} is in use; choose another port, or 0 for a free one`;
    case "EACCES":
      return `no permission to listen on port ${port} of ${host}; choose a port above 1023`;
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `${JSON.stringify(host)} is not an address of this machine; expected one such as "127.0.0.1"`;
    case "ERR_SOCKET_BAD_PORT":
      return `expected a port from 0 to 65535, got ${port}`;
    default:
      return error.message;
  }
}

/** Reports a server that keeps state in this process although others serve the same clients. */
async function warnOfInstances(options: ServeHttpOptions, runtime: ServerRuntime): Promise<void> {
  const { instances = 1, sessions, storage } = options;
  if ((storage && !storage.isLocal) || (instances <= 1 && !(await import("node:cluster")).default.isWorker)) return;
  const lost = sessions === false ? "answers to questions" : "sessions, and answers to questions,";
  const warning = new PortolanError(
    "invalid-argument",
    `storage: several processes serve these clients, and each keeps what it knows for itself: ${lost} are refused at the others. Give all of them a common \`storage\`, such as createRedisStorage`,
  );
  runtime.report(warning);
}

/** Returns the error for listening on a public address without authentication. */
export function unsafeBinding(host: string): PortolanError {
  return new PortolanError(
    "invalid-argument",
    `host: expected a loopback address, got ${nameOf(host)}; authenticate callers with \`auth\` or \`verify\`, or set \`dangerouslyAllowUnauthenticated\``,
  );
}

/** Closes the endpoint on the first SIGTERM or SIGINT and exits; exits at once on the second. */
export function closeOnSignals(close: () => Promise<void>): void {
  let isLeaving = false;
  const leave = (_: string, signal: number) => {
    if (isLeaving) process.exit(128 + signal);
    isLeaving = true;
    close().then(
      () => process.exit(0),
      (reason) => {
        console.error(toLines(reason));
        process.exit(1);
      },
    );
  };
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, leave);
}
