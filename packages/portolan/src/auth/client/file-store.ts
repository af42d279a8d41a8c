import { checkOptions } from "../../options.ts";
import type { CredentialStore } from "./store.ts";

/** Options of `fileStore`. */
export interface FileStoreOptions {
  /** Called if another process keeps the store locked for 2 s, with a sentence that names the file and the process. */
  readonly onWait?: (notice: string) => void;
}

/**
 * Creates a store in one file, which only its owner can read and all processes of the owner may share. Requires Node.
 * It refuses a file that others can read, that is a symbolic link or that is damaged, and leaves it unchanged.
 * Exclusive work holds a lock file beside it; the lock of a process that died is taken over.
 */
export function fileStore(path: string, options: FileStoreOptions = {}): CredentialStore {
  checkOptions(options, { onWait: 1 }, "fileStore");
  let opened: Promise<CredentialStore> | undefined;
  const open = () => {
    opened ??= import("#auth-file-store").then(({ createFileStore }) => createFileStore(path, options));
    return opened;
  };
  return {
    get: async (key) => (await open()).get(key),
    set: async (key, value, options) => (await open()).set(key, value, options),
    exclusive: async (key, work, waiting) => (await open()).exclusive(key, work, waiting),
  };
}
