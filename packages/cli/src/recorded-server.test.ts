import type { JsonObject, Message } from "portolan";
import { expect, test } from "vitest";
import { RecordedServer } from "./recorded-server.ts";
import type { Recording, Side } from "./recording.ts";

const meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28" };
const call = (id: number, name: string, more: JsonObject = {}) =>
  ({ jsonrpc: "2.0", id, method: "tools/call", params: { name, _meta: { ...meta, ...more } } }) as const;
const answer = (id: number, n: number) => ({ jsonrpc: "2.0", id, result: { n } }) as const;

function serve(...said: [Side, Message][]) {
  const header = { recording: 1, by: "test", server: "x", startedAt: "", redacted: false } as const;
  const messages = said.map(([from, message], at) => ({ at, from, message, text: JSON.stringify(message) }));
  const recording: Recording = { header, messages };
  const heard: JsonObject[] = [];
  return { heard, server: new RecordedServer(recording, (text) => heard.push(JSON.parse(text))) };
}

test("what was answered differently each time is so again, and the last answer stays", () => {
  const { heard, server } = serve(
    ["client", call(1, "a")],
    ["server", answer(1, 1)],
    ["client", call(2, "a")],
    ["server", answer(2, 2)],
  );
  for (const id of [7, 8, 9]) server.receive(call(id, "a"));
  expect(new Map(heard.map(({ id, result }) => [id, result]))).toEqual(
    new Map([
      [7, { n: 1 }],
      [8, { n: 2 }],
      [9, { n: 2 }],
    ]),
  );
});

test("progress goes to the call that it was about, under the token of the one who asks now", async () => {
  const progress = (progressToken: string) =>
    ({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken, progress: 1 } }) as const;
  const { heard, server } = serve(
    ["client", call(1, "a", { progressToken: "old-a" })],
    ["client", call(2, "b", { progressToken: "old-b" })],
    ["server", progress("old-a")],
    ["server", answer(2, 2)],
    ["server", answer(1, 1)],
  );
  server.receive(call(5, "a", { progressToken: "new" }));
  await expect.poll(() => heard).toEqual([progress("new"), answer(5, 1)]);
});

test("a stateless server introduces itself, though nobody asked it to when it was recorded", () => {
  const { heard, server } = serve(["client", call(1, "a")], ["server", answer(1, 1)]);
  server.receive({ jsonrpc: "2.0", id: 3, method: "server/discover", params: { _meta: meta } });
  expect(heard).toMatchObject([{ id: 3, result: { supportedVersions: ["2026-07-28"], capabilities: { tools: {} } } }]);
});

test("a stateful recording knows nothing of it", () => {
  const { heard, server } = serve(
    ["client", { jsonrpc: "2.0", id: 1, method: "initialize" }],
    ["server", answer(1, 1)],
  );
  server.receive({ jsonrpc: "2.0", id: 3, method: "server/discover" });
  server.receive({ jsonrpc: "2.0", id: 4, method: "ping" });
  expect(heard).toMatchObject([
    { id: 3, error: { code: -32601 } },
    { id: 4, result: {} },
  ]);
});
