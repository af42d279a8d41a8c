import { PortolanError } from "../../errors.ts";

/** Replaces `listenOn` of `node/listen.ts` on runtimes without `node:http`. */
export async function listenOn(): Promise<never> {
  throw new PortolanError(
    "invalid-argument",
    "listen: this runtime cannot open a port; pass `fetch` of the endpoint to the runtime instead",
  );
}

/** Replaces `checkListen` of `node/listen.ts`. */
export async function checkListen(): Promise<void> {}

/** Replaces `createDrain` of `node/listen.ts`. */
export function createDrain(): () => undefined {
  return () => undefined;
}

/** Replaces `exitOnSignals` of `node/listen.ts`. */
export async function exitOnSignals(): Promise<void> {}
