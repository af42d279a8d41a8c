import { expect, test } from "vitest";
import { revisions } from "../../../protocol/revisions/index.ts";
import { createMemoryStorage } from "../../../storage/memory.ts";
import type { Storage } from "../../../storage/storage.ts";
import { StreamClaims } from "./stream-claims.ts";

const [revision] = revisions;
const session = { id: "s", principal: "ada", peer: { revision, capabilities: {} } } as Parameters<
  StreamClaims["take"]
>[0];

/** A storage whose writes happen although their answers get lost, while `isLosing` says so. */
function losingAnswers(storage: Storage, isLosing: () => boolean): Storage {
  const { kv } = storage;
  const set: Storage["kv"]["set"] = async (key, value, options) => {
    const isWritten = await kv.set(key, value, options);
    if (isLosing()) throw new Error("The write may have happened");
    return isWritten;
  };
  return {
    ...storage,
    kv: { get: (key) => kv.get(key), set, delete: (key) => kv.delete(key), list: (prefix) => kv.list(prefix) },
  };
}

test("a claim whose renewal was not answered stays the process's own", async () => {
  let isLosing = false;
  const storage = createMemoryStorage();
  const claims = new StreamClaims(
    losingAnswers(storage, () => isLosing),
    15_000,
    60_000,
  );
  await claims.take(session, "proof");
  isLosing = true;
  await expect(claims.loosen("s")).rejects.toThrow("may have happened");
  await expect(claims.renew(session, "proof")).rejects.toThrow("may have happened");
  isLosing = false;
  expect(await claims.isLatest("s")).toBe(true);
  expect(await claims.renew(session, "proof")).toBe(true);
});

test("a claim of another process is not renewed", async () => {
  const storage = createMemoryStorage();
  const [one, other] = [new StreamClaims(storage, 15_000, 60_000), new StreamClaims(storage, 15_000, 60_000)];
  await one.take(session, "proof");
  expect(await other.take(session, "proof")).toBe(one.owner);
  expect(await one.renew(session, "proof")).toBe(false);
  expect(await one.isLatest("s")).toBe(false);
});

test("a stream that a client reads here is taken from a process where none does, and from no other", async () => {
  const storage = createMemoryStorage();
  const [one, other] = [new StreamClaims(storage, 15_000, 60_000), new StreamClaims(storage, 15_000, 60_000)];
  expect(await other.takeUnread(session, "proof")).toBeUndefined();
  await one.take(session, "older");
  expect(await other.takeUnread(session, "proof")).toBeUndefined();
  expect(await one.isLatest("s")).toBe(true);
  await one.loosen("s");
  expect(await other.takeUnread(session, "proof")).toBe(one.owner);
  expect(await other.isLatest("s")).toBe(true);
  expect(await one.renew(session, "older")).toBe(false);
});

test("a claim that is given up while it is renewed is not left behind", async () => {
  const storage = createMemoryStorage();
  const claims = new StreamClaims(storage, 15_000, 60_000);
  await claims.take(session, "proof");
  // The session ends in another process.
  await storage.kv.delete("mcp/stream/s");
  await Promise.all([claims.renew(session, "proof"), claims.release("s")]);
  await expect.poll(() => storage.kv.get("mcp/stream/s")).toBeUndefined();
});
