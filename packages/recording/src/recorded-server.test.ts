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

test("gives repeated answers in order, then repeats the last one", () => {
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

test("sends progress with the token of the current call", async () => {
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

test("answers discovery even if it was not recorded", () => {
  const { heard, server } = serve(["client", call(1, "a")], ["server", answer(1, 1)]);
  server.receive({ jsonrpc: "2.0", id: 3, method: "server/discover", params: { _meta: meta } });
  expect(heard).toMatchObject([{ id: 3, result: { supportedVersions: ["2026-07-28"], capabilities: { tools: {} } } }]);
});

test("a stateful recording refuses discovery", () => {
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

const cancel = (requestId: number) =>
  ({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } }) as const;

test("leaves a cancelled call unanswered, unless it was repeated", async () => {
  const once = serve(["client", call(1, "a")], ["client", cancel(1)]);
  once.server.receive(call(5, "a"));
  once.server.receive({ jsonrpc: "2.0", id: 6, method: "ping" });
  await expect.poll(() => once.heard).toEqual([{ jsonrpc: "2.0", id: 6, result: {} }]);
  const twice = serve(
    ["client", call(1, "a")],
    ["client", cancel(1)],
    ["client", call(2, "a")],
    ["server", answer(2, 2)],
  );
  twice.server.receive(call(5, "a"));
  await expect.poll(() => twice.heard).toEqual([answer(5, 2)]);
});

test("returns an error for a call whose answer was not recorded", async () => {
  const { heard, server } = serve(["client", call(1, "a")]);
  server.receive(call(5, "a"));
  await expect.poll(() => heard).toMatchObject([{ id: 5, error: { message: expect.stringContaining("ends before") } }]);
});

test("accepts any value in place of a redacted secret, and nowhere else", async () => {
  const login = (id: number, q: unknown, password: unknown) => {
    const { params, ...rest } = call(id, "a");
    return { ...rest, params: { ...params, arguments: { q, password } } };
  };
  const { heard, server } = serve(
    ["client", login(1, "key [redacted] and [redacted]!", "[redacted]")],
    ["server", answer(1, 1)],
  );
  server.receive(login(5, "key abc and def!", 12));
  server.receive(login(6, "key abc und def!", 12));
  server.receive(login(7, "key abc and def", 12));
  server.receive(login(8, "key and !", 12));
  server.receive(login(9, "key abc and def!", undefined));
  const found = heard.map(({ id, error }) => [id, error === undefined]);
  expect(new Map(found as [unknown, boolean][])).toEqual(
    new Map([
      [5, true],
      [6, false],
      [7, false],
      [8, false],
      [9, false],
    ]),
  );
});

test("gives the recorded result whatever a question is answered", async () => {
  const round = (id: number, name: string) => {
    const { params, ...rest } = call(id, "a");
    const inputResponses = { who: { action: "accept", content: { name } } };
    return { ...rest, params: { ...params, requestState: "s", inputResponses } };
  };
  const { heard, server } = serve(["client", round(1, "Ada")], ["server", answer(1, 1)]);
  server.receive(round(5, "Bob"));
  await expect.poll(() => heard).toEqual([answer(5, 1)]);
});

test("answers unrecorded lists with what was used", () => {
  const { heard, server } = serve(
    ["client", { jsonrpc: "2.0", id: 1, method: "initialize" }],
    ["server", answer(1, 1)],
    ["client", { jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "a" } }],
    ["client", { jsonrpc: "2.0", id: 3, method: "resources/read", params: { uri: "x:y" } }],
    ["client", { jsonrpc: "2.0", id: 4, method: "prompts/get", params: { name: "p" } }],
  );
  const methods = ["tools/list", "resources/list", "resources/templates/list", "prompts/list", "logging/setLevel"];
  for (const [id, method] of methods.entries()) server.receive({ jsonrpc: "2.0", id, method });
  expect(heard.map(({ result }) => result)).toEqual([
    { tools: [{ name: "a", inputSchema: { type: "object" } }] },
    { resources: [{ uri: "x:y", name: "x:y" }] },
    { resourceTemplates: [] },
    { prompts: [{ name: "p" }] },
    {},
  ]);
});

test("acknowledges an unrecorded subscription and sends nothing", () => {
  const { heard, server } = serve(["client", call(1, "a")], ["server", answer(1, 1)]);
  const params = { notifications: { toolsListChanged: true }, _meta: meta };
  server.receive({ jsonrpc: "2.0", id: 9, method: "subscriptions/listen", params });
  expect(heard).toEqual([
    {
      jsonrpc: "2.0",
      method: "notifications/subscriptions/acknowledged",
      params: {
        notifications: { toolsListChanged: true },
        _meta: { "io.modelcontextprotocol/subscriptionId": 9 },
      },
    },
  ]);
});
