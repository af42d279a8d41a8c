import type { CredentialStore } from "./store.ts";

/**
 * A store in one file, which only its owner can read and all his processes may share; it needs Node. A file that
 * others can read, that is a link or that is damaged is refused and left as it is. Exclusive work holds a lock file
 * beside it: that of a process that died is taken over, and others wait for a living one for a minute unless they say otherwise.
 */
export function fileStore(path: string): CredentialStore {
  let opened: Promise<CredentialStore> | undefined;
  const open = () => {
    opened ??= import("./node/file-store.ts").then(({ createFileStore }) => createFileStore(path));
    return opened;
  };
  return {
    get: async (key) => (await open()).get(key),
    set: async (key, value, options) => (await open()).set(key, value, options),
    exclusive: async (key, work, waiting) => (await open()).exclusive(key, work, waiting),
  };
}
