import { PortolanError } from "../../errors.ts";

/** Stands for `node/file-store.ts` on runtimes without files. */
export function createFileStore(): never {
  throw requiresNode("fileStore", "keep credentials with `storeIn` or `memoryStore`");
}

/** Stands for `node/loopback.ts` on runtimes that cannot open a port. */
export function beginLoopback(): never {
  throw requiresNode("loopback", "sign in with `deferred`");
}

/** Stands for `node/paste.ts` on runtimes without a terminal. */
export function beginPaste(): never {
  throw requiresNode("paste", "sign in with `deferred`");
}

/** Stands for `node/browser.ts` on runtimes that cannot start a program. */
export function openBrowser(): never {
  throw requiresNode("openBrowser", "show the address to the user");
}

function requiresNode(name: string, instead: string): PortolanError {
  return new PortolanError("invalid-argument", `${name}: this runtime is not Node; ${instead}`);
}
