import { createServer } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { createMemoryStorage, type Storage } from "portolan/storage";
import { expect, onTestFinished, test } from "vitest";
import { createFixture } from "./fixture.ts";
import { start } from "./kit.ts";
import { begin, StatelessPeer, textOf } from "./peer.ts";
import { byUser } from "./users.ts";

const revision = "2025-11-25";
const down = async () => {
  throw new Error("the storage is down");
};

/** A storage in memory, some of whose methods are replaced. */
function withParts(replace: (storage: Storage) => Partial<{ [part in keyof Storage]: object }>): Storage {
  const memory = createMemoryStorage();
  const parts = replace(memory) as { [part: string]: { [method: string]: unknown } };
  const part = <P extends "kv" | "log" | "bus">(name: P): Storage[P] =>
    new Proxy(memory[name], {
      get: (target, method) => {
        const own = parts[name]?.[String(method)];
        if (own) return own;
        const found = (target as unknown as { [method: string | symbol]: unknown })[method];
        return typeof found === "function" ? found.bind(target) : found;
      },
    });
  return { kv: part("kv"), log: part("log"), bus: part("bus") };
}

test("sessions are served while the bus of the storage fails, which is reported", async () => {
  const fixture = createFixture();
  const storage = withParts(() => ({ bus: { subscribe: down } }));
  const { url, close } = await start(fixture.server, { storage });
  const peer = await begin(url, revision);
  expect(await peer.textOf("echo", { text: "served" })).toBe("served");
  expect(fixture.reported).toContain("The storage failed (bus.subscribe): the storage is down");
  await close();
});

test("an answer is not lost if its question cannot be removed from the storage", async () => {
  const storage = withParts(({ kv }) => ({
    kv: { delete: (key: string) => (key.startsWith("mcp/question/") ? down() : kv.delete(key)) },
  }));
  const { url } = await start(createFixture().server, { storage });
  const peer = await begin(url, revision, { capabilities: { elicitation: {} } });
  const answer = await peer.call("ask");
  const question = await answer.message();
  await peer.answer(question.id, { action: "accept", content: { name: "Ada" } });
  expect(textOf(await answer.message())).toBe("Hello Ada");
});

test("a standalone stream goes on while its events cannot be stored", async () => {
  const fixture = createFixture();
  const storage = withParts(() => ({ log: { append: down } }));
  const { url } = await start(fixture.server, { storage });
  const stream = await (await begin(url, revision)).get();
  fixture.server.publish("tools/list_changed", {});
  expect((await stream.message()).method).toBe("notifications/tools/list_changed");
  expect(fixture.reported).toContain("The storage failed (log.append): the storage is down");
});

test("the answer to a call is sent while its events cannot be stored, which is reported", async () => {
  const fixture = createFixture();
  const storage = withParts(() => ({ log: { append: down } }));
  const { url } = await start(fixture.server, { storage });
  const answer = await (await begin(url, revision)).call("steps");
  expect((await answer.messages()).map(({ method }) => method)).toEqual([
    ...["notifications/progress", "notifications/progress", "notifications/progress", undefined],
  ]);
  await expect.poll(() => fixture.reported).toContain("The storage failed (log.append): the storage is down");
});

test("a question is answered although answers of other processes cannot be read, which is reported", async () => {
  const fixture = createFixture();
  const after = () => ({ [Symbol.asyncIterator]: () => ({ next: down, return: down }) });
  const { url } = await start(fixture.server, { storage: withParts(() => ({ log: { after } })) });
  const peer = await begin(url, revision, { capabilities: { elicitation: {} } });
  const answer = await peer.call("ask");
  await peer.answer((await answer.message()).id, { action: "accept", content: { name: "Ada" } });
  expect(textOf(await answer.message())).toBe("Hello Ada");
  await expect.poll(() => fixture.reported).toContain("The storage failed (log.after): the storage is down");
});

test("an answer through another process arrives although reading answers failed at first", async () => {
  const [asking, other] = [createFixture(), createFixture()];
  const shared = createMemoryStorage();
  let failures = 0;
  const log: Storage["log"] = {
    append: (key, value, options) => shared.log.append(key, value, options),
    delete: (key) => shared.log.delete(key),
    after: (key, id, options) => {
      failures += 1;
      if (failures > 1) return shared.log.after(key, id, options);
      return { [Symbol.asyncIterator]: () => ({ next: down }) };
    },
  };
  const one = await start(asking.server, { storage: { ...shared, log } });
  const two = await start(other.server, { storage: shared });
  const peer = await begin(one.url, revision, { capabilities: { elicitation: {} } });
  const answer = await peer.call("ask");
  const { id } = await answer.message();
  await peer.at(two.url).answer(id, { action: "accept", content: { name: "Ada" } });
  expect(textOf(await answer.message())).toBe("Hello Ada");
  expect(asking.reported).toContain("The storage failed (log.after): the storage is down");
});

test("a stream whose missed messages cannot be read ends, and the next one gets them", async () => {
  const fixture = createFixture();
  let reads = Number.NaN;
  const storage = withParts(({ kv }) => ({
    kv: {
      get: (key: string) => {
        if (key.endsWith("/restarted")) reads += 1;
        return reads === 2 ? down() : kv.get(key);
      },
    },
  }));
  const { url } = await start(fixture.server, { storage, verify: byUser });
  const peer = await begin(url, revision, { headers: { authorization: "Ada" } });
  const stream = await peer.get();
  fixture.server.publish("tools/list_changed", {});
  const { id } = await stream.messageEvent();
  fixture.server.publish("prompts/list_changed", {});
  await stream.messageEvent();
  stream.drop();
  // The position is checked with the first read, and the messages are read with the second.
  reads = 0;
  const deaf = await peer.get(id);
  expect([deaf.status, await deaf.messages()]).toEqual([200, []]);
  const resumed = await peer.get(id);
  expect((await resumed.message()).method).toBe("notifications/prompts/list_changed");
  fixture.server.publish("tools/list_changed", {});
  expect((await resumed.message()).method).toBe("notifications/tools/list_changed");
});

test("a client may leave a resumed answer although the storage cannot end the reading, which is reported", async () => {
  const fixture = createFixture();
  let isBroken = false;
  const storage = withParts(({ log }) => ({
    log: {
      after: (key: string, id: string, options?: { readonly follow?: boolean }) => {
        const entries = log.after(key, id, options)[Symbol.asyncIterator]();
        const end = () => (isBroken && !options?.follow ? down() : entries.return?.());
        return { [Symbol.asyncIterator]: () => ({ next: () => entries.next(), return: async () => end() }) };
      },
    },
  }));
  const serving = serveHttp(fixture.server, { storage, quietMs: 1 });
  onTestFinished(() => serving.close(0));
  const { url } = await serving.listen();
  const peer = await begin(url, revision);
  const call = await peer.call("hold", { key: "a" });
  const opening = await call.event();
  call.drop();
  const resumed = await peer.get(opening?.id);
  isBroken = true;
  resumed.drop();
  await expect.poll(async () => (await serving.usage()).total.streams).toBe(0);
  fixture.step("a");
  await expect.poll(() => fixture.reported).toContain("The storage failed (log.after): the storage is down");
});

test("a failure of the storage is reported as such, with its cause", async () => {
  const reported: unknown[] = [];
  const server = createServer({ name: "s", version: "1" }, { onError: (error) => reported.push(error) });
  const refused = Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:6379"), { code: "ECONNREFUSED" });
  const { url } = await start(server, { storage: withParts(() => ({ kv: { set: () => Promise.reject(refused) } })) });
  await expect(begin(url, revision)).rejects.toThrow();
  expect(reported).toContainEqual(
    expect.objectContaining({ code: "store-failed", message: `The storage failed (kv.set): ${refused.message}` }),
  );
  expect(reported).toContainEqual(expect.objectContaining({ cause: refused }));
});

test("the server closes after the grace although the storage never answers", async () => {
  const hangs = () => new Promise(() => {});
  const storage = withParts(() => ({ bus: { subscribe: hangs }, kv: { get: hangs, set: hangs } }));
  const endpoint = serveHttp(createFixture().server, { storage });
  await endpoint.close(20);
  const listening = serveHttp(createFixture().server, { storage });
  const { url } = await listening.listen();
  const handshake = begin(url, revision).catch(() => "not answered");
  await listening.close(20);
  expect(await handshake).toBe("not answered");
});

test("a storage that fails to unsubscribe does not make closing fail", async () => {
  const fixture = createFixture();
  const storage = withParts(() => ({ bus: { subscribe: async () => down } }));
  await serveHttp(fixture.server, { storage }).close();
  expect(fixture.reported).toContain("The storage failed (bus.unsubscribe): the storage is down");
});

test("the server closes all streams although claims on them cannot be released", async () => {
  const storage = withParts(({ kv }) => ({
    kv: { delete: (key: string) => (key.startsWith("mcp/stream/") ? down() : kv.delete(key)) },
  }));
  const { url, close } = await start(createFixture().server, { storage });
  const streams = [await (await begin(url, revision)).get(), await (await begin(url, revision)).get()];
  await close();
  for (const stream of streams) await stream.messages();
});

test("a storage that loses one answer holds its caller for a limited time only", async () => {
  const fixture = createFixture();
  let isLosing = false;
  const storage = withParts(({ kv }) => ({
    kv: {
      get: (key: string) => {
        const isLost = isLosing && key.startsWith("mcp/caller/");
        if (isLost) isLosing = false;
        return isLost ? new Promise(() => {}) : kv.get(key);
      },
    },
  }));
  const { url } = await start(fixture.server, { storage, verify: byUser });
  const headers = { authorization: "Ada" };
  isLosing = true;
  const peers = await Promise.all([begin(url, revision, { headers }), begin(url, revision, { headers })]);
  for (const peer of peers) expect(await peer.textOf("echo", { text: "served" })).toBe("served");
  expect(fixture.reported.filter((message) => message.includes("counted in this process only"))).toHaveLength(1);
});

test("a client may listen while the storage is down, and one process counts its stream", async () => {
  const fixture = createFixture();
  let isDown = false;
  const storage = withParts(({ kv }) => ({ kv: { get: (key: string) => (isDown ? down() : kv.get(key)) } }));
  const { url } = await start(fixture.server, { storage, verify: byUser, limits: { streamsPerCaller: 1 } });
  isDown = true;
  const peer = new StatelessPeer(url, { headers: { authorization: "Ada" } });
  const listen = () => peer.request("subscriptions/listen", { notifications: { toolsListChanged: true } });
  const listening = await listen();
  expect((await listening.message()).method).toBe("notifications/subscriptions/acknowledged");
  fixture.server.publish("tools/list_changed", {});
  expect((await listening.message()).method).toBe("notifications/tools/list_changed");
  expect((await listen()).status).toBe(429);
  expect(fixture.reported).toContain("The storage failed (kv.get): the storage is down");
});
