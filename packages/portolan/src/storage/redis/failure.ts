import { PortolanError } from "../../errors.ts";

/** Returns whether Redis answered with an error. All its errors begin with a word in capital letters. */
export function isErrorReply(error: unknown): error is Error {
  return error instanceof Error && /^[A-Z]{2,} /.test(error.message);
}

/** Returns whether the client refused a command before it sent anything. */
export function isUnsent(error: unknown): boolean {
  const message = error instanceof Error ? error.message : "";
  return /client is offline|isn't writeable|isn't ready|queue is full/i.test(message);
}

/** Returns an error of the storage. All have one code, so that servers tell them from failures of their own. */
export function storeFailure(message: string, cause?: unknown): PortolanError {
  return new PortolanError("store-failed", message, cause === undefined ? {} : { cause });
}

/** Says in one line why Redis cannot be used, and what to do. */
export function explain(error: unknown): string {
  const text = textOf(error);
  for (const [pattern, advice] of advices) if (pattern.test(text)) return `${advice} (${text})`;
  return text;
}

/** The first that matches counts. */
const advices: readonly (readonly [RegExp, string])[] = [
  [/NOAUTH/, "it needs a password; give the client one"],
  [
    /WRONGPASS|invalid password|invalid username|AUTH.*without any password/i,
    "wrong user name or password; correct those of the client",
  ],
  [/unknown command.*HELLO|NOPROTO/i, "the server is older than Redis 6.2, which is needed; upgrade it"],
  [/NOPERM/, "the user lacks a permission; docs/storage.md lists what to grant"],
  [/^OOM/, "Redis is full; raise its maxmemory"],
  [/^MISCONF/, "Redis cannot save its data to disk, and refuses writes"],
  [/^READONLY/, "the server is a replica, which takes no writes; connect to the master"],
  [/^MOVED|^CROSSSLOT/, "the server is part of a Redis Cluster; create the client with createCluster or new Cluster"],
  [/^CLUSTERDOWN/, "the Redis Cluster is down or lacks slots"],
  [/^LOADING/, "Redis is still loading its data"],
  [/SELECT is not allowed in cluster mode/i, "a Redis Cluster has only database 0"],
  [/ECONNREFUSED/, "nothing listens at this address"],
  [/ENOTFOUND|EAI_AGAIN/, "there is no such host"],
];

function textOf(error: unknown): string {
  if (!(error instanceof Error)) return error === undefined ? "the connection was closed" : oneLine(String(error));
  // A host with several addresses fails with one error for each. A cluster names the error of its last node.
  const { errors, lastNodeError, cause } = error as {
    errors?: readonly unknown[];
    lastNodeError?: unknown;
    cause?: unknown;
  };
  if (error.message === "" && errors?.[0] !== undefined) return textOf(errors[0]);
  const inner = lastNodeError ?? cause;
  return inner instanceof Error ? `${oneLine(error.message)}: ${textOf(inner)}` : oneLine(error.message || error.name);
}

/** A server may answer with anything, and a line is printed on a terminal. */
function oneLine(text: string): string {
  return text.slice(0, 300).replaceAll(/[^\P{C}]+/gu, " ");
}
