import { setTimeout as sleep } from "node:timers/promises";
import { createServer } from "portolan/server";
import type { ServeHttpOptions } from "portolan/server/http";
import { createMemoryStorage, type Storage } from "portolan/storage";
import { describe, expect, test } from "vitest";
import { start } from "./kit.ts";
import { begin, type SessionPeer } from "./peer.ts";
import { byUser } from "./users.ts";

// The stream of a session passes from one process to another, or no process has it, while resources change.

const revision = "2025-11-25";
const uri = "note://1";

interface Process {
  readonly url: string;
  publish(changed: string): void;
  close(graceMs?: number): Promise<void>;
}

async function startProcess(storage: Storage, options: ServeHttpOptions = {}): Promise<Process> {
  const server = createServer({ name: "notes", version: "1.0.0" })
    .template("note://{+path}", { name: "note", subscribe: true, read: () => "a note" })
    .tool("ask", {
      run: async (_, context) => {
        await context.elicit("who", { message: "Who?", form: { type: "object", properties: {} } });
        return "answered";
      },
    })
    .tool("slow", { run: () => sleep(600).then(() => "done") });
  const { url, close } = await start(server, { storage, verify: byUser, ...options });
  return { url, close, publish: (changed) => server.publish("resources/updated", { uri: changed }) };
}

const beginAt = ({ url }: Process) =>
  begin(url, revision, { headers: { authorization: "Ada" }, capabilities: { elicitation: {} } });

const subscribeAt = async (peer: SessionPeer, { url }: Process) =>
  expect((await peer.at(url).request("resources/subscribe", { uri })).status).toBe(200);

/** The next URIs that a stream reports as changed. */
async function heard(stream: Awaited<ReturnType<SessionPeer["get"]>>, count: number): Promise<string[]> {
  const uris: string[] = [];
  while (uris.length < count) {
    const { method, params } = await stream.message();
    if (method === "notifications/resources/updated") uris.push(params.uri);
  }
  return uris;
}

/** The storage of a process that other processes reach late. */
function withLateBus(storage: Storage, ms: number): Storage {
  const { bus } = storage;
  return {
    ...storage,
    bus: {
      publish: (topic, value) => bus.publish(topic, value),
      subscribe: (topic, receive, lost) => bus.subscribe(topic, (value) => void setTimeout(receive, ms, value), lost),
    },
  };
}

/** The storage of a process whose appends take time. */
function withSlowLog(storage: Storage, ms: number): Storage {
  const { log } = storage;
  return {
    ...storage,
    log: {
      append: (key, value, options) => sleep(ms).then(() => log.append(key, value, options)),
      after: (key, id, options) => log.after(key, id, options),
      delete: (key) => log.delete(key),
    },
  };
}

/**
 * The storage of a process that may be told of lost messages. From `hold` to `release`, operations on keys with a beginning
 * are answered late, or fail then although they were done; `heard` has the topics of the messages that have arrived.
 */
function holdable(storage: Storage) {
  const losses: (() => void)[] = [];
  const heard: string[] = [];
  let held: string | undefined;
  let isWaiting = false;
  let release = (_failure?: Error) => {};
  let released: Promise<Error | undefined> = Promise.resolve(undefined);
  const { kv, bus } = storage;
  const late = async <T>(key: string, answer: Promise<T>): Promise<T> => {
    const result = await answer;
    if (held === undefined || !key.startsWith(held)) return result;
    isWaiting = true;
    const failure = await released;
    if (failure) throw failure;
    return result;
  };
  const holding: Storage = {
    ...storage,
    kv: {
      get: (key) => late(key, kv.get(key)),
      set: (key, value, options) => late(key, kv.set(key, value, options)),
      delete: (key) => kv.delete(key),
      list: (prefix, options) => late(prefix, kv.list(prefix, options)),
    },
    bus: {
      publish: (topic, value) => bus.publish(topic, value),
      subscribe(topic, receive, lost) {
        losses.push(lost);
        return bus.subscribe(
          topic,
          (value) => {
            receive(value);
            heard.push(topic);
          },
          lost,
        );
      },
    },
  };
  return {
    storage: holding,
    heard,
    lose: () => losses.forEach((lost) => void lost()),
    hold(beginning: string) {
      held = beginning;
      released = new Promise((resolve) => {
        release = resolve;
      });
    },
    isWaiting: () => isWaiting,
    release(failure?: Error) {
      held = undefined;
      release(failure);
    },
  };
}

const earlier = "note://earlier";

/** Publishes a change of a subscribed resource and of one from before, and returns what is heard up to that one. */
async function heardWith(process: Process, stream: Awaited<ReturnType<SessionPeer["get"]>>): Promise<string[]> {
  for (const changed of [`${uri}/last`, `${earlier}/last`]) process.publish(changed);
  const uris: string[] = [];
  while (uris.at(-1) !== `${earlier}/last`) uris.push(...(await heard(stream, 1)));
  return uris;
}

test("a subscription that is made while its session is read again is not lost", async () => {
  const shared = createMemoryStorage();
  const slow = holdable(shared);
  const [one, other] = [await startProcess(slow.storage), await startProcess(shared)];
  const peer = await beginAt(one);
  const stream = await peer.get();
  await stream.event();
  expect((await peer.request("resources/subscribe", { uri: earlier })).status).toBe(200);
  slow.hold("mcp/subscription/");
  slow.lose();
  await expect.poll(slow.isWaiting).toBe(true);
  // The process has listed the subscriptions already. It forgets what it has read of the session, and is told of another one.
  expect((await peer.at(other.url).request("logging/setLevel", { level: "info" })).status).toBe(200);
  await subscribeAt(peer, other);
  slow.release();
  expect((await peer.request("ping")).status).toBe(200);
  expect(await heardWith(one, stream)).toContain(`${uri}/last`);
});

test("a subscription that is made while a process opens the stream is heard there", async () => {
  const shared = createMemoryStorage();
  const slow = holdable(shared);
  const [one, other] = [await startProcess(shared), await startProcess(slow.storage)];
  const peer = await beginAt(one);
  expect((await peer.request("resources/subscribe", { uri: earlier })).status).toBe(200);
  // Reads the session.
  expect((await peer.at(other.url).request("ping")).status).toBe(200);
  slow.hold("mcp/caller/");
  const opened = peer.at(other.url).get();
  // The process has read the subscriptions, and is about to count the stream.
  await expect.poll(slow.isWaiting).toBe(true);
  // It forgets them.
  slow.lose();
  await subscribeAt(peer, one);
  await expect.poll(() => slow.heard).toContain("mcp/session-change");
  slow.release();
  const stream = await opened;
  // The process before has handed the stream over.
  await expect.poll(() => slow.heard.some((topic) => topic.startsWith("mcp/process-reply/"))).toBe(true);
  expect((await peer.at(other.url).request("ping")).status).toBe(200);
  expect(await heardWith(one, stream)).toContain(`${uri}/last`);
});

test("a stream that is opened while a subscription looks for its process takes it over", async () => {
  const shared = createMemoryStorage();
  const slow = holdable(shared);
  const [one, other] = [await startProcess(shared), await startProcess(slow.storage)];
  const peer = await beginAt(one);
  const first = await peer.get();
  await first.event();
  await subscribeAt(peer, one);
  first.drop();
  await first.closed;
  slow.hold("mcp/stream/");
  const there = peer.at(other.url);
  const subscribed = there.request("resources/subscribe", { uri: earlier });
  await expect.poll(slow.isWaiting).toBe(true);
  one.publish(`${uri}/kept`);
  const opened = there.get();
  // The stream is about to be taken over.
  const stream = await opened;
  slow.release();
  expect((await subscribed).status).toBe(200);
  expect(await heardWith(other, stream)).toEqual([`${uri}/kept`, `${uri}/last`, `${earlier}/last`]);
});

test("a session that ends while a subscription is stored leaves none behind, and the subscription fails", async () => {
  const shared = createMemoryStorage();
  const slow = holdable(shared);
  const one = await startProcess(slow.storage);
  const peer = await beginAt(one);
  slow.hold("mcp/subscription/");
  const subscribing = peer.request("resources/subscribe", { uri });
  await expect.poll(slow.isWaiting).toBe(true);
  const keys = () => shared.kv.list(`mcp/subscription/${peer.id}/`);
  expect(await keys()).toHaveLength(1);
  // Another process has ended it, or the storage has lost it.
  await shared.kv.delete(`mcp/session/${peer.id}`);
  slow.release();
  expect(await (await subscribing).json()).toHaveProperty("error");
  expect(await keys()).toEqual([]);
  expect((await peer.request("ping")).status).toBe(404);
});

test("a session that ends takes all its subscriptions along, also those that the process does not know of", async () => {
  const shared = createMemoryStorage();
  const [one, other] = [await startProcess(withLateBus(shared, 2 ** 30)), await startProcess(shared)];
  const peer = await beginAt(one);
  await (await peer.get()).event();
  await subscribeAt(peer, other);
  const keys = () => shared.kv.list(`mcp/subscription/${peer.id}/`);
  expect(await keys()).toHaveLength(1);
  expect((await peer.delete()).status).toBe(204);
  await expect.poll(keys).toEqual([]);
});

const unanswered = new Error("no answer: the write may have happened");

test("a subscription that is requested again while it is being stored fails with the first request", async () => {
  const slow = holdable(createMemoryStorage());
  const one = await startProcess(slow.storage);
  const peer = await beginAt(one);
  slow.hold("mcp/subscription/");
  const requests = [1, 2].map((id) => peer.request("resources/subscribe", { uri }, id));
  await expect.poll(slow.isWaiting).toBe(true);
  // Both requests have arrived.
  expect((await peer.request("ping", {}, 3)).status).toBe(200);
  slow.release(unanswered);
  for (const request of requests) expect(await (await request).json()).toHaveProperty("error");
});

test("a subscription that fails in one process is not lost if another one has stored it", async () => {
  const shared = createMemoryStorage();
  const slow = holdable(shared);
  const [one, other] = [await startProcess(slow.storage), await startProcess(shared)];
  const peer = await beginAt(one);
  const stream = await peer.get();
  await stream.event();
  expect((await peer.request("resources/subscribe", { uri: earlier })).status).toBe(200);
  slow.hold("mcp/subscription/");
  const failing = peer.request("resources/subscribe", { uri });
  await expect.poll(slow.isWaiting).toBe(true);
  await subscribeAt(peer, other);
  slow.release(unanswered);
  expect(await (await failing).json()).toHaveProperty("error");
  // The stream goes to the other process, and comes back.
  await (await peer.at(other.url).get()).event();
  await expect.poll(() => slow.heard).toContain("mcp/session-stream");
  const back = await peer.get();
  await back.event();
  expect((await peer.request("ping")).status).toBe(200);
  expect(await heardWith(one, back)).toContain(`${uri}/last`);
});

describe("a subscription that the storage loses while it fails over", () => {
  /**
   * Starts two processes, the first one with the stream, and subscribes at one of them. Then the storage has lost that.
   *
   * @param isLate the first process starts after the subscription, so that it has not heard of it
   */
  async function startLosing(at: 0 | 1, isLate = false) {
    const shared = createMemoryStorage();
    const [here, there] = [holdable(shared), holdable(shared)];
    const other = await startProcess(there.storage);
    let one = isLate ? other : await startProcess(here.storage);
    const peer = await beginAt(one);
    const open = async (at: Process) => {
      const stream = await peer.at(at.url).get();
      await stream.event();
      return stream;
    };
    let stream = await open(one);
    expect((await peer.request("resources/subscribe", { uri: earlier })).status).toBe(200);
    const keysOf = async () => (await shared.kv.list("mcp/subscription/")).map(({ key }) => key);
    const before = await keysOf();
    await subscribeAt(peer, at === 0 ? one : other);
    if (isLate) {
      one = await startProcess(here.storage);
      stream = await open(one);
    }
    const [lost = ""] = (await keysOf()).filter((key) => !before.includes(key));
    await shared.kv.delete(lost);
    return { here, there, peer: peer.at(one.url), stream, one, isStored: async () => (await keysOf()).includes(lost) };
  }

  test("is stored again by the process that has the stream", async () => {
    const { here, there, stream, one, isStored } = await startLosing(0);
    for (const { lose } of [here, there]) lose();
    await expect.poll(isStored).toBe(true);
    expect(await heardWith(one, stream)).toContain(`${uri}/last`);
  });

  test("is stored again by another process than the one that confirmed it, which has ended", async () => {
    const { here, stream, one, isStored } = await startLosing(1);
    here.lose();
    await expect.poll(isStored).toBe(true);
    expect(await heardWith(one, stream)).toContain(`${uri}/last`);
  });

  test("is stored again by another process, although the one with the stream has taken it for an ended one", async () => {
    const { here, there, peer, stream, one, isStored } = await startLosing(1, true);
    there.hold(`mcp/session/${peer.id}`);
    for (const { lose } of [here, there]) lose();
    await expect.poll(there.isWaiting).toBe(true);
    expect((await peer.request("ping")).status).toBe(200);
    const told = here.heard.length;
    there.release();
    await expect.poll(isStored).toBe(true);
    await expect.poll(() => here.heard.slice(told)).toContain("mcp/session-change");
    expect(await heardWith(one, stream)).toContain(`${uri}/last`);
  });
});

test("a change is heard as soon as a subscription through another process is confirmed", async () => {
  const storage = createMemoryStorage();
  const [one, other] = [await startProcess(withLateBus(storage, 100)), await startProcess(storage)];
  const peer = await beginAt(one);
  const stream = await peer.get();
  await stream.event();
  await subscribeAt(peer, other);
  one.publish(`${uri}/first`);
  one.publish(`${uri}/last`);
  expect(await heard(stream, 2)).toEqual([`${uri}/first`, `${uri}/last`]);
});

test("a change before the stream is opened at another process is heard", async () => {
  const storage = createMemoryStorage();
  const [one, other] = [await startProcess(storage), await startProcess(storage)];
  const peer = await beginAt(one);
  await subscribeAt(peer, one);
  other.publish(`${uri}/first`);
  const stream = await peer.at(other.url).get();
  other.publish(`${uri}/last`);
  expect(await heard(stream, 2)).toEqual([`${uri}/first`, `${uri}/last`]);
});

test("a stream that passes to another process misses and repeats no change", async () => {
  const storage = createMemoryStorage();
  const [one, other] = [await startProcess(withSlowLog(storage, 200)), await startProcess(storage)];
  const peer = await beginAt(one);
  const stream = await peer.get();
  const position = (await stream.event())?.id;
  await subscribeAt(peer, one);
  stream.drop();
  await stream.closed;
  // The first process stores these while the second one has the stream already.
  one.publish(`${uri}/1`);
  other.publish(`${uri}/2`);
  const next = await peer.at(other.url).get(position);
  one.publish(`${uri}/3`);
  other.publish(`${uri}/4`);
  // The changes of two processes have no order.
  expect((await heard(next, 4)).toSorted()).toEqual([1, 2, 3, 4].map((number) => `${uri}/${number}`));
  // Nothing that was stored twice is sent later.
  next.drop();
  await next.closed;
  const third = await peer.get(position);
  one.publish(`${uri}/5`);
  expect((await heard(third, 5)).toSorted()).toEqual([1, 2, 3, 4, 5].map((number) => `${uri}/${number}`));
});

/** The ids and texts of the stored messages of a session's stream. */
async function storedOf(storage: Storage, peer: SessionPeer): Promise<string[]> {
  const texts: string[] = [];
  for await (const { value } of storage.log.after(`mcp/events/${peer.id}/get`, "")) texts.push(value);
  return texts;
}

/** The storage of a process that hears what is published, and nothing else. */
function withoutNews(storage: Storage): Storage {
  const { bus } = storage;
  return {
    ...storage,
    bus: {
      publish: (topic, value) => bus.publish(topic, value),
      subscribe: (topic, receive, lost) =>
        bus.subscribe(topic, (value) => topic === "mcp/publish" && receive(value), lost),
    },
  };
}

describe("a change that two processes have stored is not repeated", () => {
  /** Returns the URI and the event id of the next change that a stream reports. */
  async function nextChange(stream: Awaited<ReturnType<SessionPeer["get"]>>) {
    for (;;) {
      const { data, id } = await stream.messageEvent();
      const { method, params } = JSON.parse(data);
      if (method === "notifications/resources/updated" && params.uri !== uri) return { changed: params.uri, id };
    }
  }

  test("after the first copy was read", async () => {
    const shared = createMemoryStorage();
    // The first process is not told that another one has the stream, and stores later.
    const one = await startProcess(withSlowLog(withoutNews(shared), 300));
    const [other, third] = [await startProcess(shared), await startProcess(shared)];
    const peer = await beginAt(one);
    const stream = await peer.get();
    const opening = await stream.event();
    await subscribeAt(peer, one);
    stream.drop();
    await stream.closed;
    const next = await peer.at(other.url).get(opening?.id);
    await next.message();
    third.publish(`${uri}/twice`);
    const { changed, id } = await nextChange(next);
    expect(changed).toBe(`${uri}/twice`);
    const copies = async () => (await storedOf(shared, peer)).filter((text) => text.includes("/twice"));
    await expect.poll(copies).toHaveLength(2);
    next.drop();
    await next.closed;
    const last = await peer.at(third.url).get(id);
    other.publish(`${uri}/last`);
    expect((await nextChange(last)).changed).toBe(`${uri}/last`);
  });

  test("after it was sent while nothing could be stored", async () => {
    const shared = createMemoryStorage();
    let isAway = false;
    // The write has happened, and its answer is lost.
    const unanswered = async <T>(answer: Promise<T>): Promise<T> => {
      const result = await answer;
      if (isAway) throw new Error("no answer: the write may have happened");
      return result;
    };
    const { kv, log } = shared;
    const storage: Storage = {
      ...withoutNews(shared),
      kv: {
        get: (key) => kv.get(key),
        set: async (key, value, options) => {
          if (isAway) throw new Error("not reached");
          return kv.set(key, value, options);
        },
        delete: (key) => kv.delete(key),
        list: (prefix, options) => kv.list(prefix, options),
      },
      log: {
        append: (key, value, options) => unanswered(log.append(key, value, options)),
        after: (key, id, options) => log.after(key, id, options),
        delete: async (key) => {
          if (isAway) throw new Error("not reached");
          await log.delete(key);
        },
      },
    };
    const [one, other] = [await startProcess(storage), await startProcess(shared)];
    const peer = await beginAt(one);
    const stream = await peer.get();
    let position = (await stream.event())?.id;
    await subscribeAt(peer, one);
    isAway = true;
    const seen: string[] = [];
    for (const name of ["first", "second"]) {
      other.publish(`${uri}/${name}`);
      const { changed, id } = await nextChange(stream);
      seen.push(changed);
      position = id ?? position;
    }
    expect(await storedOf(shared, peer)).toHaveLength(2);
    stream.drop();
    await stream.closed;
    const next = await peer.at(other.url).get(position);
    other.publish(`${uri}/last`);
    while (seen.at(-1) !== `${uri}/last`) {
      const { changed, id } = await nextChange(next);
      seen.push(changed);
      position = id ?? position;
    }
    expect(seen).toEqual(["first", "second", "last"].map((name) => `${uri}/${name}`));
    // The first process has the stream still, and stores more.
    isAway = false;
    next.drop();
    await next.closed;
    const again = await peer.at(other.url).get(position);
    other.publish(`${uri}/end`);
    expect((await nextChange(again)).changed).toBe(`${uri}/end`);
  });

  test("by a process that hears of it late", async () => {
    const shared = createMemoryStorage();
    const [one, other] = [await startProcess(shared), await startProcess(withLateBus(shared, 300))];
    const peer = await beginAt(one);
    const stream = await peer.get();
    await stream.event();
    await subscribeAt(peer, one);
    expect((await peer.at(other.url).request("ping")).status).toBe(200);
    one.publish(`${uri}/once`);
    const { id } = await nextChange(stream);
    await one.close(0);
    const next = await peer.at(other.url).get(id);
    // What was published before arrives before this.
    const late = await startProcess(shared);
    late.publish(`${uri}/last`);
    expect((await nextChange(next)).changed).toBe(`${uri}/last`);
  });
});

test("after a time without a process the client is told once that everything may have changed", async () => {
  const storage = createMemoryStorage();
  const [one, other] = [await startProcess(storage), await startProcess(storage)];
  const peer = await beginAt(one);
  const stream = await peer.get();
  const position = (await stream.event())?.id;
  await subscribeAt(peer, other);
  await one.close(0);
  other.publish(`${uri}/missed`);
  const next = await peer.at(other.url).get(position);
  expect(await heard(next, 1)).toEqual([uri]);
  other.publish(`${uri}/last`);
  expect(await heard(next, 1)).toEqual([`${uri}/last`]);
});

test("a stream that a subscription begins again after a time without a process is told, too", async () => {
  const storage = createMemoryStorage();
  const [one, other] = [await startProcess(storage), await startProcess(storage)];
  const peer = await beginAt(one);
  const stream = await peer.get();
  const position = (await stream.event())?.id;
  await subscribeAt(peer, other);
  await one.close(0);
  other.publish(`${uri}/missed`);
  const there = peer.at(other.url);
  expect((await there.request("resources/subscribe", { uri: earlier })).status).toBe(200);
  expect((await heard(await there.get(position), 2)).toSorted()).toEqual([uri, earlier].toSorted());
});

test("a subscription that is confirmed before the process with the stream has answered is told as possibly changed", async () => {
  const storage = createMemoryStorage();
  // Longer than `handoverMs`.
  const [one, other] = [await startProcess(withLateBus(storage, 3_000)), await startProcess(storage)];
  const peer = await beginAt(one);
  const stream = await peer.get();
  await stream.event();
  await subscribeAt(peer, other);
  one.publish(`${uri}/missed`);
  expect(await heard(stream, 1)).toEqual([uri]);
});

test("a subscription that a process finds when it reads its sessions again is told as possibly changed", async () => {
  const shared = createMemoryStorage();
  const deaf = holdable(withLateBus(shared, 2 ** 30));
  const [one, other] = [await startProcess(deaf.storage), await startProcess(shared)];
  const peer = await beginAt(one);
  const stream = await peer.get();
  await stream.event();
  await subscribeAt(peer, other);
  deaf.lose();
  expect(await heard(stream, 1)).toEqual([uri]);
});

test("a subscription that a process hears of before it has read its sessions again is told as possibly changed", async () => {
  const shared = createMemoryStorage();
  const slow = holdable(shared);
  const [one, other] = [await startProcess(slow.storage), await startProcess(shared)];
  const peer = await beginAt(one);
  const stream = await peer.get();
  await stream.event();
  slow.hold("mcp/session/");
  slow.lose();
  await expect.poll(slow.isWaiting).toBe(true);
  // A storage that was away passes the news on late.
  await subscribeAt(peer, other);
  slow.release();
  expect(await heard(stream, 1)).toEqual([uri]);
});

test("a stream is not resumed in a session that the storage has lost, although its process does not know yet", async () => {
  const storage = createMemoryStorage();
  const [one, other] = [await startProcess(storage), await startProcess(storage)];
  const peer = await beginAt(one);
  const there = peer.at(other.url);
  expect((await there.request("ping")).status).toBe(200);
  const stream = await there.get();
  const { id } = (await stream.event()) ?? {};
  stream.drop();
  await stream.closed;
  for (const { key } of await storage.kv.list("mcp/session/")) await storage.kv.delete(key);
  expect((await there.get(id)).status).toBe(404);
  expect((await there.request("ping")).status).toBe(404);
});

test("a client is told of a gap if what it missed cannot be read any more", async () => {
  const storage = createMemoryStorage();
  const one = await startProcess(storage);
  const peer = await beginAt(one);
  await subscribeAt(peer, one);
  one.publish(`${uri}/missed`);
  // Another process has dropped the stored messages, because it could not store one.
  await storage.kv.set(`mcp/events/${peer.id}/get/restarted`, "another proof");
  expect(await heard(await peer.get(), 1)).toEqual([uri]);
});

describe("a client whose missed changes were dropped is told that everything may have changed", () => {
  /** Subscribes, and loses the connection after a first change. Returns its position. */
  async function loseConnection(storage: Storage) {
    const sessions = { abandonMs: 20_000 };
    const [one, other] = [await startProcess(storage, { sessions }), await startProcess(storage, { sessions })];
    const peer = await beginAt(one);
    await subscribeAt(peer, one);
    const stream = await peer.get();
    one.publish(`${uri}/heard`);
    const { id } = await stream.messageEvent();
    stream.drop();
    // The claim says when the server knows that nobody reads.
    await expect.poll(() => storage.kv.get(`mcp/stream/${peer.id}`)).toMatch(/^ /);
    const stored = async () => {
      let count = 0;
      for await (const _ of storage.log.after(`mcp/events/${peer.id}/get`, "")) count += 1;
      return count;
    };
    return { one, peer, there: peer.at(other.url), id, stored };
  }

  test.each([
    ["its position", true],
    ["no position", false],
  ])("because they were too old, with %s", async (_, hasPosition) => {
    let time = 0;
    const { one, there, id, stored } = await loseConnection(createMemoryStorage({ now: () => time }));
    one.publish(`${uri}/missed`);
    await expect.poll(stored).toBe(2);
    time += 21_000;
    expect(await heard(await there.get(hasPosition ? id : undefined), 1)).toEqual([uri]);
  });

  test("because they were too many", async () => {
    const { one, there, id, stored } = await loseConnection(createMemoryStorage());
    for (let count = 0; count <= 1_000; count += 1) one.publish(`${uri}/missed/${count}`);
    await expect.poll(stored).toBe(1_000);
    const told = await heard(await there.get(id), 1_001);
    expect(told.at(-1)).toBe(uri);
  });

  test("but not if nothing has changed", async () => {
    let time = 0;
    const { one, there, id } = await loseConnection(createMemoryStorage({ now: () => time }));
    time += 21_000;
    const stream = await there.get(id);
    one.publish(`${uri}/later`);
    expect(await heard(stream, 1)).toEqual([`${uri}/later`]);
  });
});

test("a change that was stored while its connection closed is sent on the next one", async () => {
  const storage = createMemoryStorage();
  const one = await startProcess(withSlowLog(storage, 300));
  const peer = await beginAt(one);
  const stream = await peer.get();
  await stream.event();
  await subscribeAt(peer, one);
  one.publish(`${uri}/missed`);
  stream.drop();
  const stored = () => storage.log.after(`mcp/events/${peer.id}/get`, "")[Symbol.asyncIterator]().next();
  await expect.poll(async () => (await stored()).value).toBeDefined();
  expect(await heard(await peer.get(), 1)).toEqual([`${uri}/missed`]);
});

test("changes that were about to be sent when their connection closed are sent on the next one", async () => {
  const shared = createMemoryStorage();
  let isHeld = true;
  let reads = 0;
  const released: (() => void)[] = [];
  const storage: Storage = {
    ...shared,
    log: {
      append: (key, value, options) => shared.log.append(key, value, options),
      async *after(key, id, options) {
        reads += 1;
        if (isHeld) await new Promise<void>((resolve) => released.push(resolve));
        yield* shared.log.after(key, id, options);
      },
      delete: (key) => shared.log.delete(key),
    },
  };
  const one = await startProcess(storage);
  const peer = await beginAt(one);
  await subscribeAt(peer, one);
  one.publish(`${uri}/missed`);
  const first = await peer.get();
  await expect.poll(() => reads).toBe(1);
  first.drop();
  await first.closed;
  // The server has noticed it, too.
  expect((await peer.request("ping")).status).toBe(200);
  isHeld = false;
  for (const release of released) release();
  expect(await heard(await peer.get(), 1)).toEqual([`${uri}/missed`]);
});

test("the claim on a stream ends with its session, whichever process ends it", async () => {
  const storage = createMemoryStorage();
  const [one, other] = [await startProcess(withLateBus(storage, 2 ** 30)), await startProcess(storage)];
  const peer = await beginAt(one);
  await (await peer.get()).event();
  const claim = () => storage.kv.get(`mcp/stream/${peer.id}`);
  await expect.poll(claim).toBeDefined();
  expect((await peer.at(other.url).delete()).status).toBe(204);
  await expect.poll(claim).toBeUndefined();
});

test("the questions of a process that was killed end with their session", async () => {
  const storage = createMemoryStorage();
  const one = await startProcess(storage);
  const peer = await beginAt(one);
  const left = `mcp/question/${peer.id}/left`;
  await storage.kv.set(left, "elicitation/create");
  expect((await peer.delete()).status).toBe(204);
  await expect.poll(() => storage.kv.get(left)).toBeUndefined();
});

test("a process that is told to stop keeps the leases of its running calls", async () => {
  const storage = createMemoryStorage();
  const sessions = { leaseMs: 100 };
  const [one, other] = [
    await startProcess(storage, { sessions, quietMs: 10 }),
    await startProcess(storage, { sessions }),
  ];
  const peer = await beginAt(one);
  const running = await peer.call("slow", {}, "slow");
  const position = (await running.event())?.id;
  const closed = one.close(5_000);
  running.drop();
  const rest = await peer.at(other.url).get(position);
  expect((await rest.messages()).at(-1)).toMatchObject({ id: "slow", result: { content: [{ text: "done" }] } });
  await closed;
});

async function empty({ kv }: Storage): Promise<void> {
  for (let found = await kv.list("", { limit: 1_000 }); found.length > 0; ) {
    for (const { key } of found) await kv.delete(key);
    found = await kv.list("mcp/session/", { limit: 1_000 });
  }
}

test("a storage that was emptied ends its sessions and their questions", async () => {
  const storage = createMemoryStorage();
  // A process that was kept from running for longer than its lease takes the loss for the end of its lease.
  const sessions = { leaseMs: 2_000 };
  const [one, other] = [await startProcess(storage, { sessions }), await startProcess(storage, { sessions })];
  const peer = await beginAt(one);
  const asking = await peer.call("ask", {}, "ask");
  expect((await asking.message()).method).toBe("elicitation/create");
  await empty(storage);
  // The question is taken back, and the stream ends: the client learns the rest from 404.
  expect((await asking.messages()).map(({ method }) => method)).toEqual(["notifications/cancelled"]);
  for (const { url } of [one, other]) {
    await expect.poll(async () => (await peer.at(url).request("ping")).status).toBe(404);
  }
});

test("a storage that is emptied while a process looks for a loss ends the sessions of that process", async () => {
  const shared = createMemoryStorage();
  const { kv } = shared;
  /** False while the next renewal empties the storage. */
  let isEmptied: boolean | undefined;
  const storage: Storage = {
    ...shared,
    kv: {
      get: (key) => kv.get(key),
      async set(key, value, options) {
        if (isEmptied === false && /^mcp\/(process|data)/.test(key)) {
          isEmptied = true;
          await empty(shared);
        }
        return kv.set(key, value, options);
      },
      delete: (key) => kv.delete(key),
      list: (prefix, options) => kv.list(prefix, options),
    },
  };
  const one = await startProcess(storage, { sessions: { leaseMs: 1_000 } });
  const peer = await beginAt(one);
  const stream = await peer.get();
  isEmptied = false;
  expect((await stream.messages()).filter(({ method }) => method === "notifications/resources/updated")).toEqual([]);
  expect(isEmptied).toBe(true);
  expect((await peer.request("ping")).status).toBe(404);
});

/** A storage that loses what it acknowledges under keys with this beginning, as one does that fails over. */
function forgetful(storage: Storage, lost: string): Storage {
  const { kv, log } = storage;
  return {
    ...storage,
    kv: {
      get: (key) => kv.get(key),
      set: async (key, value, options) => key.startsWith(lost) || kv.set(key, value, options),
      delete: (key) => kv.delete(key),
      list: (prefix, options) => kv.list(prefix, options),
    },
    log: {
      append: async (key, value, options) => (key.startsWith(lost) ? "1-0" : log.append(key, value, options)),
      after: (key, id, options) => log.after(key, id, options),
      delete: (key) => log.delete(key),
    },
  };
}

test.each([
  ["question", "mcp/question/"],
  ["answer", "mcp/answers/"],
])("an answer reaches its handler although the storage has lost the %s", async (_, lost) => {
  const storage = forgetful(createMemoryStorage(), lost);
  const [one, other] = [await startProcess(storage), await startProcess(storage)];
  const peer = await beginAt(one);
  const asking = await peer.call("ask", {}, "ask");
  const { id } = await asking.message();
  expect((await peer.at(other.url).answer(id, { action: "accept", content: {} })).status).toBe(202);
  expect(await asking.message()).toMatchObject({ id: "ask", result: { content: [{ text: "answered" }] } });
});

test("an answer reaches its handler although the process that asked did not hear it, and the storage has lost it", async () => {
  const shared = createMemoryStorage();
  const { bus, log } = shared;
  let isLosing = true;
  const { storage, lose } = holdable({
    ...shared,
    log: {
      append: async (key, value, options) => (isLosing ? "1-0" : log.append(key, value, options)),
      after: (key, id, options) => log.after(key, id, options),
      delete: (key) => log.delete(key),
    },
    bus: {
      publish: async (topic, value) => (isLosing ? undefined : bus.publish(topic, value)),
      subscribe: (topic, receive, lost) => bus.subscribe(topic, receive, lost),
    },
  });
  const [one, other] = [await startProcess(shared), await startProcess(storage)];
  const peer = await beginAt(one);
  const asking = await peer.call("ask", {}, "ask");
  const { id } = await asking.message();
  expect((await peer.at(other.url).answer(id, { action: "accept", content: {} })).status).toBe(202);
  isLosing = false;
  lose();
  expect(await asking.message()).toMatchObject({ id: "ask", result: { content: [{ text: "answered" }] } });
});
