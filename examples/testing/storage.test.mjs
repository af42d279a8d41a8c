// @ts-check
// Runs the storage contract on a storage of one's own: a part of another storage, with keys and topics of its own.
// Run: node examples/testing/storage.test.mjs
import { describe, test } from "node:test";
import { createMemoryStorage } from "portolan/storage";
import { storageContract } from "portolan/testing";

/** @type {(storage: import("portolan/storage").Storage, name: string) => import("portolan/storage").Storage} */
function partOf({ kv, log, bus }, name) {
  const prefix = `${name}/`;
  return {
    kv: {
      get: (key) => kv.get(prefix + key),
      set: (key, value, options) => kv.set(prefix + key, value, options),
      delete: (key) => kv.delete(prefix + key),
      async list(start, { after, ...options } = {}) {
        const more = after === undefined ? {} : { after: prefix + after };
        const found = await kv.list(prefix + start, { ...options, ...more });
        return found.map(({ key, value }) => ({ key: key.slice(prefix.length), value }));
      },
    },
    log: {
      append: (key, value, options) => log.append(prefix + key, value, options),
      after: (key, id, options) => log.after(prefix + key, id, options),
      delete: (key) => log.delete(prefix + key),
    },
    bus: {
      publish: (topic, value) => bus.publish(prefix + topic, value),
      subscribe: (topic, receive, lost) => bus.subscribe(prefix + topic, receive, lost),
    },
  };
}

/** Each check gets an empty storage, and the same data as another process would see it. */
async function make() {
  let time = 0;
  const shared = createMemoryStorage({ now: () => time });
  const passTime = async (/** @type {number} */ ms) => {
    time += ms;
  };
  return { storage: partOf(shared, "ours"), other: partOf(shared, "ours"), passTime };
}

describe("a part of a storage", () => {
  for (const { name, run } of storageContract(make)) test(name, run);
});
