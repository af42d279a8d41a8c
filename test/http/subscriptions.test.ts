import { createServer, live } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { createMemoryStorage, type Storage } from "portolan/storage";
import { expect, onTestFinished, test, vi } from "vitest";
import { type Answer, start } from "./kit.ts";
import { begin, StatelessPeer } from "./peer.ts";
import { byUser } from "./users.ts";

const revision = "2025-11-25";
const uriOf = (index: number) => `note://${index}`;

/** A server with many notes, which counts how often a note is looked up. */
function createNotes(): { server: ReturnType<typeof live>; watched: string[] } {
  const watched: string[] = [];
  const server = createServer({ name: "notes", version: "1.0.0" }).template("note://{id}", {
    name: "note",
    watch(uri) {
      watched.push(uri);
      return () => {};
    },
    read: () => "text",
  });
  return { server: live(server), watched };
}

/** A storage that counts the characters that are written to its keys. */
function createCountingStorage(): { storage: Storage; written(): number } {
  const storage = createMemoryStorage();
  let written = 0;
  return {
    storage: {
      ...storage,
      kv: {
        get: (key) => storage.kv.get(key),
        set(key, value, options) {
          written += key.length + value.length;
          return storage.kv.set(key, value, options);
        },
        delete: (key) => storage.kv.delete(key),
        list: (prefix, options) => storage.kv.list(prefix, options),
      },
    },
    written: () => written,
  };
}

test("a subscription costs the same, however many the session has", async () => {
  const { storage, written } = createCountingStorage();
  const { server, watched } = createNotes();
  const { url } = await start(server, { storage });
  const peer = await begin(url, revision);
  await peer.get();
  const costs: number[] = [];
  for (let index = 0; index < 300; index += 1) {
    const before = written();
    expect((await peer.request("resources/subscribe", { uri: uriOf(index) })).status).toBe(200);
    costs.push(written() - before);
  }
  // The first one also marks the record of the session.
  expect(Math.max(...costs.slice(1))).toBeLessThan(500);
  // Each resource is watched once.
  expect(watched).toHaveLength(300);
});

test("subscriptions made in one process are heard in another, before and after the stream opens", async () => {
  const storage = createMemoryStorage();
  const [here, there] = [createNotes(), createNotes()];
  const { url } = await start(here.server, { storage });
  const other = await start(there.server, { storage });
  const peer = await begin(url, revision);
  await (await peer.request("resources/subscribe", { uri: uriOf(1) })).json();
  const stream = await peer.at(other.url).get();
  await (await peer.request("resources/subscribe", { uri: uriOf(2) })).json();
  await (await peer.request("resources/unsubscribe", { uri: uriOf(1) })).json();
  for (const index of [1, 2]) there.server.publish("resources/updated", { uri: uriOf(index) });
  expect((await stream.message()).params).toEqual({ uri: uriOf(2) });
});

test("changes between a subscription and the first stream are sent on that stream, once", async () => {
  const { server, watched } = createNotes();
  const { url } = await start(server, { verify: byUser });
  const peer = await begin(url, revision, { headers: { authorization: "ada" } });
  const change = (index: number) => server.publish("resources/updated", { uri: uriOf(index) });
  for (const index of [1, 2]) await (await peer.request("resources/subscribe", { uri: uriOf(index) })).json();
  expect(watched).toEqual([1, 2].map(uriOf));
  for (const index of [1, 2, 3]) change(index);
  const first = await peer.get();
  for (const index of [1, 2]) expect((await first.message()).params).toEqual({ uri: uriOf(index) });
  const second = await peer.get();
  change(2);
  expect((await second.message()).params).toEqual({ uri: uriOf(2) });
});

test("subscriptions outlive many renewals of their session", async () => {
  vi.useFakeTimers({ toFake: ["Date", "performance"], now: 1_800_000_000_000 });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const storage = createMemoryStorage();
  const idleMs = 60_000;
  const first = await start(createNotes().server, { storage, sessions: { idleMs } });
  const peer = await begin(first.url, revision);
  await (await peer.request("resources/subscribe", { uri: uriOf(1) })).json();
  for (let round = 0; round < 20; round += 1) {
    vi.advanceTimersByTime(idleMs / 2);
    expect((await peer.request("ping")).status).toBe(200);
  }
  const second = createNotes();
  const { url } = await start(second.server, { storage });
  const stream = await peer.at(url).get();
  second.server.publish("resources/updated", { uri: uriOf(1) });
  // No process has had the stream for minutes: first the client is told that everything may have changed.
  expect((await stream.message()).method).toBe("notifications/tools/list_changed");
  while ((await stream.message()).method !== "notifications/resources/list_changed");
  expect((await stream.message()).params).toEqual({ uri: uriOf(1) });
});

test("subscriptions take kept bytes of their caller, and give them back when the session ends", async () => {
  const limits = { keptBytesPerCaller: 20_000 };
  const { url } = await start(createNotes().server, { verify: byUser, limits });
  const tryAll = async () => {
    const peer = await begin(url, revision, { headers: { authorization: "ada" } });
    const statuses = [];
    for (let index = 0; index < 100; index += 1) {
      statuses.push((await peer.request("resources/subscribe", { uri: uriOf(index) })).status);
    }
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
    // An innocent caller has its own share.
    const other = await begin(url, revision, { headers: { authorization: "grace" } });
    expect((await other.request("resources/subscribe", { uri: uriOf(1) })).status).toBe(200);
    await Promise.all([peer.delete(), other.delete()]);
    return statuses.filter((status) => status === 200).length;
  };
  const first = await tryAll();
  expect(await tryAll()).toBe(first);
});

test("a change costs no comparison with the subscriptions to other resources", async () => {
  const { server } = createNotes();
  const { url } = await start(server);
  const listen = (uris: string[]) =>
    new StatelessPeer(url).request("subscriptions/listen", { notifications: { resourceSubscriptions: uris } });
  const others: Answer[] = [];
  for (let stream = 0; stream < 10; stream += 1) {
    others.push(await listen(Array.from({ length: 1_000 }, (_, index) => `note://${stream}-${index}`)));
  }
  const session = await begin(url, revision);
  for (let index = 0; index < 50; index += 1) {
    expect((await session.request("resources/subscribe", { uri: `note://session-${index}` })).status).toBe(200);
  }
  const stream = await listen([uriOf(1)]);
  for (const each of [...others, stream]) {
    expect((await each.message()).method).toBe("notifications/subscriptions/acknowledged");
  }
  const compared = vi.spyOn(String.prototype, "startsWith");
  server.publish("resources/updated", { uri: uriOf(1) });
  const comparisons = compared.mock.calls.filter(([prefix]) => /^note:/.test(prefix)).length;
  compared.mockRestore();
  expect((await stream.message()).params).toMatchObject({ uri: uriOf(1) });
  // One for the subscription itself; an accidental hash collision may add another.
  expect(comparisons).toBeLessThan(5);
});

test("the subscriptions of a caller are limited over all its streams and sessions, and given back at their end", async () => {
  const limits = { subscriptionsPerCaller: 5, subscriptions: 9 };
  const { url } = await start(createNotes().server, { verify: byUser, limits });
  const headers = { authorization: "ada" };
  const listen = (count: number, authorization = "ada") => {
    const uris = Array.from({ length: count }, (_, index) => uriOf(index));
    const peer = new StatelessPeer(url, { headers: { authorization } });
    return peer.request("subscriptions/listen", { notifications: { resourceSubscriptions: uris } });
  };
  const first = await listen(3);
  const session = await begin(url, revision, { headers });
  const subscribe = async (index: number) =>
    (await session.request("resources/subscribe", { uri: uriOf(index) })).status;
  expect([await subscribe(1), await subscribe(2), await subscribe(2), await subscribe(3)]).toEqual([
    200, 200, 200, 429,
  ]);
  const refused = await listen(1);
  expect([refused.status, (await refused.response()).error?.message]).toEqual([
    429,
    "Limit reached: this caller may have 5 subscriptions at once; end earlier ones first",
  ]);
  expect([(await listen(4, "grace")).status, (await listen(1, "hedy")).status]).toEqual([200, 503]);
  first.drop();
  await vi.waitUntil(async () => (await subscribe(3)) === 200);
  await session.delete();
  await vi.waitUntil(async () => (await listen(5)).status === 200);
});

test("a listening request that is ended twice releases what it holds once", async () => {
  let watches = 0;
  const server = createServer({ name: "notes", version: "1.0.0" }).resource("note://1", {
    name: "note",
    read: () => "text",
    watch: () => {
      watches += 1;
      return () => {
        watches -= 1;
      };
    },
  });
  const [one, other] = [serveHttp(server), serveHttp(server)];
  onTestFinished(() => other.close(0));
  const filter = { notifications: { resourceSubscriptions: ["note://1"] } };
  for (const { url } of [await one.listen(), await other.listen()]) {
    const listening = await new StatelessPeer(url).request("subscriptions/listen", filter);
    expect((await listening.message()).method).toBe("notifications/subscriptions/acknowledged");
  }
  await Promise.all([one.close(), one.close()]);
  expect(watches).toBe(1);
  expect((await one.usage()).total.keptBytes).toBe(0);
});
