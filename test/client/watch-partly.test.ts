import { createMemoryPair } from "portolan";
import { connect } from "portolan/client";
import { createServer, live, serveChannel } from "portolan/server";
import { expect, onTestFinished, test } from "vitest";

const definition = createServer({ name: "x", version: "1" })
  .tool("x", { run: () => "x" })
  .resource("note://a", { name: "a", subscribe: true, read: () => "a" });

async function open() {
  const server = live(definition);
  const [near, far] = createMemoryPair();
  serveChannel(server, far);
  const errors: string[] = [];
  const client = await connect(near, { era: "2025-11-25", onError: ({ message }) => errors.push(message) });
  onTestFinished(() => client.close());
  return { client, errors, server };
}

test("a URI that the server refuses is left out of a watch and reported; the others are watched", async () => {
  const { client, errors, server } = await open();
  const watch = await client.watch({ tools: true, uris: ["note://missing", "note://a"] });
  expect(watch.acceptedFilter).toEqual({ tools: true, uris: ["note://a"] });
  expect(errors).toEqual([expect.stringContaining("note://missing")]);
  server.update((before) => before.tool("y", { run: () => "y" }));
  const changes = watch[Symbol.asyncIterator]();
  expect((await changes.next()).value).toEqual({ kind: "tools" });
  await watch.close();
});

test("lists are watched although the server refuses every URI", async () => {
  const { client } = await open();
  const watch = await client.watch({ tools: true, uris: ["note://missing"] });
  expect(watch.acceptedFilter).toEqual({ tools: true });
  await watch.close();
});

test("a watch rejects if the server refuses all of it, and can be tried again", async () => {
  const { client, server } = await open();
  await expect(client.watch({ uris: ["note://late"] })).rejects.toThrow("note://late");
  server.update((before) => before.resource("note://late", { name: "late", subscribe: true, read: () => "late" }));
  const watch = await client.watch({ uris: ["note://late"] });
  expect(watch.acceptedFilter).toEqual({ uris: ["note://late"] });
  await watch.close();
});

test.each([
  ["note://a", 'watch: expected a filter such as { tools: true, uris: ["note://1"] }, got "note://a"'],
  [["note://a"], 'watch: expected a filter such as { tools: true, uris: ["note://1"] }, got an array'],
  [undefined, 'watch: expected a filter such as { tools: true, uris: ["note://1"] }, got nothing'],
  [{ uris: "note://a" }, 'watch: uris: expected an array of URIs such as ["note://1"], got "note://a"'],
  [{ uri: "note://a" }, "watch: unknown option `uri`; did you mean `uris`?"],
])("watch says what it expects instead of %j", async (filter, message) => {
  const { client } = await open();
  await expect(client.watch(filter as never)).rejects.toMatchObject({ code: "invalid-argument", message });
});
