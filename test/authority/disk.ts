import { createMemoryStorage, type Storage } from "portolan/storage";

/** A storage whose disk can be full: for everything, or for new values whose keys have a part. */
export function createDisk() {
  const storage = createMemoryStorage();
  const check = (isFull: boolean) => {
    if (!isFull) return;
    const file = `/data/${crypto.randomUUID()}.tmp`;
    throw Object.assign(new Error(`ENOSPC: no space left on device, write '${file}'`), { code: "ENOSPC" });
  };
  const disk = {
    ...storage,
    isFull: false,
    fullFor: undefined as string | undefined,
    kv: {
      get: (key: string) => storage.kv.get(key),
      list: (prefix: string, options?: object) => storage.kv.list(prefix, options),
      async delete(key: string) {
        // A folder writes a lock file first.
        check(disk.isFull);
        return storage.kv.delete(key);
      },
      async set(...parts: Parameters<Storage["kv"]["set"]>) {
        const [key, , { expect: earlier } = {}] = parts;
        const isNew = earlier === undefined || earlier === null;
        check(disk.isFull || (isNew && disk.fullFor !== undefined && key.includes(disk.fullFor)));
        return storage.kv.set(...parts);
      },
    },
  };
  return disk;
}
