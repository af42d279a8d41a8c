// An authority in its own process, with Redis or with the storage of the process that started it.
import { createServer } from "node:http";
import { createRedisStorage } from "portolan/storage/redis";
import { createAuthority, usersIn } from "portolan-authority";
import { createClient } from "redis";

const waiting = new Map();
const subscribers = new Map();
let count = 0;

/** Calls a method of that storage. */
function call(part, method, ...args) {
  count += 1;
  const id = count;
  process.send({ id, part, method, args });
  return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
}

process.on("message", ({ id, result, error, topic, value, options }) => {
  if (options) return void start(options);
  if (topic !== undefined) {
    for (const hear of subscribers.get(topic) ?? []) hear(value);
    return;
  }
  const { resolve, reject } = waiting.get(id);
  waiting.delete(id);
  if (error === undefined) resolve(result);
  else reject(new Error(error));
});

const kv = Object.fromEntries(
  ["get", "set", "delete", "list"].map((name) => [name, (...args) => call("kv", name, ...args)]),
);
const bus = {
  publish: (topic, value) => call("bus", "publish", topic, value),
  async subscribe(topic, hear) {
    const known = subscribers.get(topic) ?? new Set();
    subscribers.set(topic, known.add(hear));
    await call("bus", "subscribe", topic);
    return async () => void known.delete(hear);
  },
};

async function start({ users, port, redisUrl, ...options }) {
  const storage = redisUrl === undefined ? { kv, bus } : createRedisStorage(createClient({ url: redisUrl }));
  const authority = await createAuthority({ ...options, signIn: usersIn(users), storage });
  createServer(authority.handle).listen(port, "127.0.0.1", () => process.send({ isReady: true }));
}
