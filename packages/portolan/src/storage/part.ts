import type { KeyValue } from "./storage.ts";

/** A part of a storage for somebody alone: keys of theirs, beside those of others, whatever the names are. */
export function partOf(kv: KeyValue, owner: string): KeyValue {
  // The length keeps one owner's keys from being another's.
  const prefix = `of/${owner.length}/${owner}/`;
  return {
    get: (key) => kv.get(prefix + key),
    set: (key, value, options) => kv.set(prefix + key, value, options),
    delete: (key) => kv.delete(prefix + key),
    async list(start, { after, ...options } = {}) {
      const found = await kv.list(prefix + start, {
        ...options,
        ...(after !== undefined && { after: prefix + after }),
      });
      return found.map(({ key, value }) => ({ key: key.slice(prefix.length), value }));
    },
  };
}
