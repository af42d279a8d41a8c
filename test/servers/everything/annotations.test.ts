import { connectInMemory } from "portolan/testing";
import { createEverything } from "portolan-everything";
import { expect, test } from "vitest";
import { type Data, everyAnswer } from "./walk.ts";

const inputs: { [tool: string]: object } = {
  ...{ echo: { text: "x" }, content: { kind: "all" }, list: { count: 2 }, route: { region: "eu" }, count: { to: 2 } },
  ...{ fail: { kind: "tool" }, sample: { prompt: "x" }, "sample-tools": { a: 1, b: 2 } },
  ...{ "write-note": { note: "other" }, "change-lists": { extras: 1 } },
};

/** Returns everything that a client can see of the server's state. */
async function seen(client: Data): Promise<string> {
  const lists = await Promise.all([client.listTools({ fresh: true }), client.listPrompts({ fresh: true })]);
  const read = (uri: string) => client.readResource(uri, { fresh: true });
  return JSON.stringify([lists, await read("everything://note"), await read("everything://waits")]);
}

test("a tool changes something if and only if its annotations say so", async () => {
  const client: Data = await connectInMemory(createEverything({ onError() {} }), everyAnswer([], [], []));
  for (const { name, annotations } of await client.listTools()) {
    const before = await seen(client);
    const abort = new AbortController();
    const onProgress = () => name === "wait" && abort.abort();
    await client.callTool(name, inputs[name] ?? {}, { signal: abort.signal, onProgress }).catch(() => {});
    const after = await seen(client);
    expect(after === before, name).toBe(annotations.readOnlyHint);
    if (annotations.idempotentHint && !annotations.readOnlyHint) {
      await client.callTool(name, inputs[name] ?? {});
      expect(await seen(client), name).toBe(after);
    }
  }
  await client.close();
});
