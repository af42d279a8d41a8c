import { createMemoryStorage, type Storage } from "portolan/storage";
import { expect, test } from "vitest";
import { createFixture } from "./fixture.ts";
import { start } from "./kit.ts";
import { begin, textOf } from "./peer.ts";

const revision = "2025-11-25";
const down = async () => {
  throw new Error("the storage is down");
};

/** A storage in memory, some of whose methods are replaced. */
function withParts(replace: (storage: Storage) => Partial<{ [part in keyof Storage]: object }>): Storage {
  const memory = createMemoryStorage();
  const parts = replace(memory) as { [part: string]: { [method: string]: unknown } };
  const part = <P extends keyof Storage>(name: P): Storage[P] =>
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
  expect(fixture.reported).toContain("the storage is down");
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
  expect(fixture.reported).toContain("the storage is down");
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
