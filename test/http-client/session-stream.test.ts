import { createClock } from "portolan/testing";
import { expect, test } from "vitest";
import { answerHandshake, begin, openLink, resultOf, sendJson, startEvents, startRaw, toEvent, until } from "./kit.ts";

test("requests the stream of a session only once if the server has none", async () => {
  const server = await startRaw((seen, response) => {
    if (!answerHandshake(seen, response, "s")) sendJson(response, 200, resultOf(seen.message));
  });
  const opened = await openLink(server.url);
  await begin(opened);
  await opened.ask({ method: "tools/list" });
  await opened.ask({ method: "tools/list" });
  expect(server.seen.filter(({ method }) => method === "GET")).toHaveLength(1);
  expect(opened.invalid).toEqual([]);
});

test("the stream of a session delivers notifications and requests outside calls", async () => {
  const server = await startRaw((seen, response) => {
    if (seen.method !== "GET") {
      if ("result" in (seen.message ?? {})) response.writeHead(202).end();
      else answerHandshake(seen, response, "s");
      return;
    }
    startEvents(response);
    response.write(toEvent({ jsonrpc: "2.0", id: 1, method: "ping" }));
    response.write(toEvent({ jsonrpc: "2.0", method: "notifications/tools/list_changed" }));
  });
  const opened = await openLink(server.url);
  await begin(opened);
  await until(() => opened.notifications.length === 1);
  expect(opened.requests).toEqual([{ request: expect.objectContaining({ method: "ping" }), during: undefined }]);
  await until(() => server.seen.some(({ message }) => message && "result" in message));
});

test("reopens the stream of a session after its last event and its retry time, with back-off while it fails", async () => {
  const clock = createClock();
  let isDown = false;
  const server = await startRaw((seen, response) => {
    if (seen.method !== "GET") answerHandshake(seen, response, "s");
    else if (isDown) response.writeHead(503).end();
    else {
      startEvents(response);
      response.end(`retry: 2000\n${toEvent({ jsonrpc: "2.0", method: "a" }, "event-7")}`);
    }
  });
  const gets = () => server.seen.filter(({ method }) => method === "GET");
  const opened = await openLink(server.url, { clock });
  await begin(opened);
  await until(() => opened.notifications.length === 1 && clock.pending === 1);
  await clock.advance(1_999);
  expect(gets()).toHaveLength(1);
  isDown = true;
  await clock.advance(202);
  await until(() => gets().length === 2 && clock.pending === 1);
  expect(gets()[1]!.headers["last-event-id"]).toBe("event-7");
  await clock.advance(3_199);
  expect(gets()).toHaveLength(2);
  await clock.advance(322);
  await until(() => gets().length === 3);
});

test("a 404 to the stream of a session begins a new session", async () => {
  const clock = createClock();
  let sessions = 0;
  let cut = () => {};
  const server = await startRaw((seen, response) => {
    const id = seen.headers["mcp-session-id"];
    if (seen.message?.method === "initialize") {
      sessions += 1;
      answerHandshake(seen, response, `s${sessions}`);
    } else if (seen.method !== "GET") answerHandshake(seen, response);
    else if (id === `s${sessions}`) {
      startEvents(response);
      cut = () => response.destroy();
    } else response.writeHead(404).end();
  });
  const opened = await openLink(server.url, { clock });
  await begin(opened);
  await until(() => server.seen.at(-1)!.method === "GET" && clock.pending === 0);
  sessions += 1;
  cut();
  await until(() => clock.pending > 0);
  // A stream without events counts as a failure.
  await clock.advance(1_800);
  await until(() => opened.renewed() === 1);
  expect(opened.link.sessionId).toBe("s3");
  expect(server.seen.at(-1)!.headers["mcp-session-id"]).toBe("s3");
});

test("a 400 to the position of a stream begins another stream in the same session", async () => {
  const clock = createClock();
  let cut = () => {};
  const server = await startRaw((seen, response) => {
    if (seen.method !== "GET") {
      if ("result" in (seen.message ?? {})) response.writeHead(202).end();
      else answerHandshake(seen, response, "s");
    } else if (seen.headers["last-event-id"] !== undefined) response.writeHead(400).end();
    else {
      startEvents(response);
      response.write(toEvent({ jsonrpc: "2.0", method: "a" }, "event-7"));
      cut = () => response.destroy();
    }
  });
  const opened = await openLink(server.url, { clock });
  await begin(opened);
  await until(() => opened.notifications.length === 1);
  cut();
  await until(() => clock.pending > 0);
  await clock.advance(1_200);
  await until(() => opened.interrupted() === 1 && opened.notifications.length === 2);
  expect(opened.renewed()).toBe(0);
  expect(server.seen.filter(({ message }) => message?.method === "initialize")).toHaveLength(1);
  const gets = server.seen.filter(({ method }) => method === "GET");
  expect(gets.map(({ headers }) => [headers["mcp-session-id"], headers["last-event-id"]])).toEqual([
    ["s", undefined],
    ["s", "event-7"],
    ["s", undefined],
  ]);
});

test("a 404 to the first GET stream does not end the session", async () => {
  const server = await startRaw((seen, response) => {
    if (seen.method === "GET") response.writeHead(404).end();
    else if (!answerHandshake(seen, response, "s")) sendJson(response, 200, resultOf(seen.message));
  });
  const opened = await openLink(server.url);
  await begin(opened);
  await opened.ask({ method: "tools/list" });
  expect(server.seen.filter(({ message }) => message?.method === "initialize")).toHaveLength(1);
  expect(server.seen.filter(({ method }) => method === "GET")).toHaveLength(1);
});
