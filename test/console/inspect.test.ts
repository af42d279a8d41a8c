import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeFolder, newServer, oldServer, openConsole, plainServer, refusalOf, Tab } from "./kit.ts";

async function calledTab(server: object, folder?: string) {
  const running = await openConsole({ servers: { it: server as never }, ...(folder !== undefined && { folder }) });
  const tab = await Tab.open(running);
  const events = await tab.events();
  const { id } = await tab.do("call", { server: "it", tool: "echo", argumentsText: '{"message": "needle"}' });
  await events.next("call", ({ call }) => call.id === id && call.end !== undefined);
  const { connection } = await events.ever("connection", (event) => event.connection.isMain);
  return { tab, events, call: id, connection: connection.id, running };
}

test.each([
  ["2024-11-05 over stdio", async () => oldServer, "initialize"],
  ["2026-07-28 over HTTP", newServer, "server/discover"],
] as const)("every message with a server on %s is a row, with its partner and its time", async (_, serverOf, first) => {
  const { tab, call, connection, events } = await calledTab(await serverOf());
  const { rows, first: from, last } = await tab.do("messages", { connection, limit: 500 });
  expect([from, last]).toEqual([1, rows.length]);
  expect(rows.map(({ n }) => n)).toEqual(rows.map((_row, index) => index + 1));
  expect(rows.find(({ kind }) => kind === "request")?.title).toBe(first);
  const request = rows.find(({ kind, name }) => kind === "request" && name === "echo")!;
  expect(request).toMatchObject({ lane: "client", title: "tools/call", call });
  const response = rows.find(({ kind, partner }) => kind === "response" && partner === request.n)!;
  expect(response).toMatchObject({ lane: "server", title: "tools/call", name: "echo" });
  expect(response.tookMs).toBeGreaterThan(0);
  const { text, isCut } = await tab.do("message", { connection, n: request.n });
  expect(isCut).toBe(false);
  expect(JSON.parse(text)).toMatchObject({ method: "tools/call", params: { arguments: { message: "needle" } } });
  const sent = await events.ever("messages", (event) => event.rows.some(({ n }) => n === request.n));
  expect(sent.rows.find(({ n }) => n === request.n)).toEqual(request);
});

test.each([
  ["2024-11-05 over stdio", async () => oldServer],
  ["2026-07-28 over HTTP", newServer],
] as const)("a call that is cancelled on %s has a row that says so", async (_, serverOf) => {
  const { tab, connection, events } = await calledTab(await serverOf());
  const { id } = await tab.do("call", { server: "it", tool: "wait", argumentsText: '{"ms": 600000}' });
  const isRequest = ({ kind, call }: { kind: string; call?: string }) => kind === "request" && call === id;
  await events.ever("messages", ({ rows }) => rows.some(isRequest));
  await tab.do("cancel", { call: id });
  await events.next("call", ({ call }) => call.id === id && call.end !== undefined);
  const { rows } = await tab.do("messages", { connection, limit: 500 });
  const request = rows.find(isRequest)!;
  const cancelling = rows.filter(({ cancels }) => cancels);
  expect(cancelling).toMatchObject([{ lane: "client", partner: request.n }]);
  expect((await tab.do("message", { connection, n: cancelling[0]!.n })).text).toMatch(/cancel/);
});

test("a server that knows neither the probe nor a ping has done nothing wrong", async () => {
  const { tab, connection } = await calledTab(plainServer);
  await refusalOf(tab.do("server.ping", { server: "it" }));
  const { rows } = await tab.do("messages", { connection, limit: 500 });
  const refused = rows.filter(({ isUnsupported }) => isUnsupported);
  expect(refused.map(({ title }) => title)).toEqual(["server/discover", "ping"]);
  expect(rows.filter(({ isError }) => isError)).toEqual([]);
});

test("a list that is cut is told once, by its name, and counted as cut", async () => {
  const { tab, events } = await calledTab(plainServer);
  const { server } = await events.ever("server", (event) => event.server.cutLists.length > 0);
  expect(server).toMatchObject({
    cutLists: ["tools"],
    listProblems: ["tools: more than 2000 items; the rest is left out"],
  });
  expect((await tab.do("catalog", { server: "it" })).tools).toHaveLength(2_000);
});

test("a sign-in that fails gives no advice for programmers", async () => {
  const reason = "https://it.example requires a person to sign in at https://authority.example";
  const signIn = async () => {
    throw new Error(`${reason}; give oauth() a redirect, such as loopback(), or a grant`);
  };
  const running = await openConsole({ servers: { it: await newServer() }, tools: { signIn } });
  const tab = await Tab.open(running);
  const events = await tab.events();
  const { id } = await tab.do("login.begin", { server: "it" });
  const { login } = await events.ever("login", (event) => event.login.id === id && event.login.state === "failed");
  expect(login.reason).toBe("Sign-in required at https://authority.example");
});

test("rows are found by what they contain, and read by pages", async () => {
  const { tab, connection } = await calledTab(oldServer);
  const found = await tab.do("messages", { connection, filter: { text: "NEEDLE" } });
  expect(found.rows.map(({ kind }) => kind)).toEqual(["request", "response"]);
  expect((await tab.do("find", { text: "needle" })).rows).toHaveLength(2);
  const servers = await tab.do("messages", { connection, filter: { lanes: ["server"] } });
  expect(servers.rows.every(({ lane }) => lane === "server")).toBe(true);
  const newest = await tab.do("messages", { connection, limit: 2 });
  const before = await tab.do("messages", { connection, limit: 2, before: newest.rows[0]!.n });
  expect(before.rows.at(-1)!.n).toBe(newest.rows[0]!.n - 1);
  const after = await tab.do("messages", { connection, limit: 2, after: before.rows.at(-1)!.n });
  expect(after.rows).toEqual(newest.rows);
  expect((await refusalOf(tab.do("message", { connection, n: 9_999 }))).error.code).toBe("not-found");
});

test("an HTTP exchange is a row for its request and one for its status, without what authorizes it", async () => {
  const { url } = await newServer();
  const { tab, connection } = await calledTab({ url, headers: { authorization: "Bearer sesame-open-up" } });
  const { rows } = await tab.do("messages", { connection, limit: 500, filter: { lanes: ["http"] } });
  const ended = rows.find(({ partner }) => partner !== undefined)!;
  const { http } = await tab.do("message", { connection, n: ended.n });
  expect(http).toMatchObject({ method: "POST", status: 200 });
  expect(http!.requestHeaders.length).toBeGreaterThan(2);
  expect(await tab.do("message", { connection, n: ended.partner! })).toMatchObject({ http: { status: 200 } });
  for (const { n } of rows) {
    expect(JSON.stringify(await tab.do("message", { connection, n }))).not.toContain("sesame-open-up");
  }
});

test("a request can be copied in every form", async () => {
  const { tab, connection } = await calledTab(oldServer);
  const { rows } = await tab.do("messages", { connection, filter: { text: "needle" } });
  const { n } = rows[0]!;
  for (const as of ["curl", "command", "typescript", "json"] as const) {
    expect((await tab.do("message.copy", { connection, n, as })).text).toContain("needle");
  }
  const response = await refusalOf(tab.do("message.copy", { connection, n: rows[1]!.n, as: "curl" }));
  expect(response.error.code).toBe("invalid");
});

test("messages are kept in private files, which are gone after the end", async () => {
  const folder = await makeFolder();
  const { running } = await calledTab(oldServer, folder);
  const spool = join(folder, "console", "spool");
  const [boot] = await readdir(spool);
  for (const name of await readdir(join(spool, boot!))) {
    expect((await stat(join(spool, boot!, name))).mode & 0o777).toBe(0o600);
  }
  await running.close();
  expect(await readdir(spool)).toEqual([]);
});

test("a second connection speaks the chosen revision, calls by hand and sends any request", async () => {
  const { tab, events } = await calledTab(oldServer);
  const { id } = await tab.do("connection.open", { server: "it", revision: "2025-06-18" });
  const { connection } = await events.next(
    "connection",
    (event) => event.connection.id === id && event.connection.state !== "opening",
  );
  expect(connection).toMatchObject({ state: "open", revision: "2025-06-18", isMain: false });
  const facts = await tab.do("connection.facts", { id });
  expect(facts.peer).toMatchObject({ name: "full", version: "1.2.3" });
  expect(facts.client.capabilities).toHaveProperty("elicitation");
  const { id: call } = await tab.do("call", {
    server: "it",
    tool: "add",
    argumentsText: '{"a": 1, "b": 2}',
    connection: id,
  });
  const { call: ended } = await events.next("call", (event) => event.call.id === call && event.call.end !== undefined);
  expect(ended).toMatchObject({
    connection: id,
    end: { how: "done", result: { result: { structuredContent: { sum: 3 } } } },
  });
  const { row, responseText } = await tab.do("request", { connection: id, method: "tools/list", paramsText: "{}" });
  expect(JSON.parse(responseText).result.tools.length).toBeGreaterThan(5);
  expect(await tab.do("message", { connection: id, n: row })).toMatchObject({ title: "tools/list", kind: "request" });
  const paramsText = '{"name":"echo","arguments":{"message":"x","more":12345678901234567890}}';
  const typed = await tab.do("request", { connection: id, method: "tools/call", paramsText });
  expect((await tab.do("message", { connection: id, n: typed.row })).text).toContain('"more":12345678901234567890}');
  const wrong = await tab.do("request", { connection: id, method: "no/such", paramsText: "" });
  expect(JSON.parse(wrong.responseText).error.code).toBe(-32601);
  await tab.do("connection.close", { id });
  await events.ever("connection", (event) => event.connection.id === id && event.connection.state === "closed");
  const closed = await refusalOf(tab.do("request", { connection: id, method: "ping", paramsText: "{}" }));
  expect(closed.error.code).toBe("busy");
});

test("a connection that cannot be opened says why", async () => {
  const { tab, events } = await calledTab(oldServer);
  const { id } = await tab.do("connection.open", { server: "it", revision: "1999-01-01" });
  const { connection } = await events.next(
    "connection",
    (event) => event.connection.id === id && event.connection.state === "failed",
  );
  expect(connection.reason).toContain("1999-01-01");
});

test("twenty digits arrive as they were typed, and a result that breaks its schema is shown with the reason", async () => {
  const { tab, events, connection } = await calledTab(oldServer);
  const typed = '{"message": "x", "more": 12345678901234567890}';
  const { id } = await tab.do("call", { server: "it", tool: "echo", argumentsText: typed });
  await events.next("call", ({ call }) => call.id === id && call.end !== undefined);
  const { rows } = await tab.do("messages", { connection, filter: { text: "12345678901234567890" } });
  expect(rows[0]).toMatchObject({ kind: "request", lane: "client" });
  const { url } = await newServer();
  const running = await openConsole({ servers: { it: { url } } });
  const other = await Tab.open(running);
  const otherEvents = await other.events();
  const { id: wrong } = await other.do("call", { server: "it", tool: "wrong_output", argumentsText: "{}" });
  const { call } = await otherEvents.next("call", (event) => event.call.id === wrong && event.call.end !== undefined);
  expect(call.end).toMatchObject({ how: expect.stringMatching(/done|failed/) });
});

test("what a server writes beside the protocol is kept as lines", async () => {
  const { tab, events } = await calledTab(oldServer);
  const { id } = await tab.do("call", { server: "it", tool: "logs", argumentsText: "{}" });
  await events.next("call", ({ call }) => call.id === id && call.end !== undefined);
  await events.ever("lines", (event) => event.rows.some(({ level }) => level === "emergency"));
  const { rows } = await tab.do("lines", { server: "it" });
  expect(rows.filter(({ kind }) => kind === "log").map(({ level }) => level)).toContain("emergency");
});
