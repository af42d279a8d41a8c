import { expect, test } from "vitest";
import { createMemoryStorage } from "../../storage/memory.ts";
import { nothing, type Offers } from "./load-lists.ts";
import { OfferMemory } from "./memory.ts";

const server = { name: "s", digest: "d" };

function offersOf(description: string): Offers {
  return { ...nothing, tools: [{ name: "t", description, inputSchema: { type: "object" } }], instructions: "first" };
}

test("what is kept is read again, by the server that it was kept for alone", async () => {
  const memory = new OfferMemory(createMemoryStorage().kv);
  await memory.keep(server, offersOf("Does it"));
  expect(await memory.read(server)).toEqual(offersOf("Does it"));
  expect(await memory.read({ ...server, digest: "other" })).toBeUndefined();
  expect(await memory.read({ ...server, name: "other" })).toBeUndefined();
});

test.each(["", "{", "[]", '{"tools":[{"name":3}]}', "null"])("%j is found out anew", async (text) => {
  const { kv } = createMemoryStorage();
  const memory = new OfferMemory(kv);
  await memory.keep(server, nothing);
  const [entry] = await kv.list("host/offers/");
  await kv.set(entry?.key ?? "", text);
  expect(await memory.read(server)).toBeUndefined();
});

test("what is too long is not kept", async () => {
  const memory = new OfferMemory(createMemoryStorage().kv);
  await memory.keep(server, offersOf("x".repeat(5 * 1024 * 1024)));
  expect(await memory.read(server)).toBeUndefined();
});
