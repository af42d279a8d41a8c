import { CallFailure, connect } from "portolan/client";
import { http } from "portolan/client/http";
import { describe, expect, test } from "vitest";
import { createFixture } from "../http/fixture.ts";
import { start } from "../http/kit.ts";
import { begin, StatelessPeer, textOf } from "../http/peer.ts";
import { closing, reasonOf, until } from "../http-client/kit.ts";
import { Forked, ServerProcess } from "./processes.ts";

/** With this grace period, close resolves only if no call and no connection is left. */
const patienceMs = 2 ** 30;

/** Starts a client process and waits until its call has reported progress. */
async function startMidStream(era: "stateless" | "stateful") {
  const fixture = createFixture();
  const server = await start(fixture.server, { limits: { streams: 2 }, quietMs: 1 });
  const client = new Forked("client.mjs", [server.url, era]);
  await client.received((message) => "watching" in message);
  await fixture.noted("holding a");
  fixture.step("a");
  await client.received(({ progress }) => progress === 1);
  return { fixture, server, client, warnings: [...fixture.reported] };
}

describe("a client process that is killed during a stream", () => {
  test("cancels its stateless call and frees its streams", async () => {
    const { fixture, server, client } = await startMidStream("stateless");
    await client.kill();
    await fixture.noted("aborted a");
    const peer = new StatelessPeer(server.url);
    const listen = () => peer.request("subscriptions/listen", { notifications: { toolsListChanged: true } });
    // Both allowed streams are free again.
    await until(async () => (await listen()).isStream);
    const other = await listen();
    expect(other.isStream).toBe(true);
    await server.close(0);
  });

  test("leaves nothing that delays the closing of the server", async () => {
    const { fixture, server, client, warnings } = await startMidStream("stateless");
    await client.kill();
    await fixture.noted("aborted a");
    await server.close(patienceMs);
    expect(fixture.reported).toEqual(warnings);
  });

  test("does not cancel its call in a session, and another client can resume it", async () => {
    const { fixture, server, client, warnings } = await startMidStream("stateful");
    const { session } = await client.received((message) => "session" in message);
    const events = client.messages.flatMap(({ event }) => (event === undefined ? [] : [String(event)]));
    await client.kill();
    const peer = (await begin(server.url, "2025-11-25")).at(server.url, { "mcp-session-id": String(session) });
    fixture.step("a");
    const resumed = await peer.get(events.at(-1));
    expect((await resumed.message()).params.progress).toBe(2);
    fixture.release("a");
    expect(textOf(await resumed.message())).toBe("released a");
    expect(await resumed.event()).toBeUndefined();
    expect(fixture.journal).toEqual(["holding a"]);
    await server.close(patienceMs);
    expect(fixture.reported).toEqual(warnings);
  });
});

test("subscriptions of killed client processes are released", async () => {
  const server = await ServerProcess.start();
  const clients = Array.from({ length: 5 }, () => new Forked("client.mjs", [server.url, "stateless"]));
  for (const client of clients) await client.received((message) => "watching" in message);
  await until(async () => (await server.ask("counts"))["running"] === 5);
  expect(await server.ask("counts")).toEqual({ running: 5, watching: 1 });
  await Promise.all(clients.map((client) => client.kill()));
  await until(async () => (await server.ask("counts"))["watching"] === 0);
  await until(async () => (await server.ask("counts"))["running"] === 0);
});

describe.each(["stateless", "stateful"] as const)("a server process that is killed during a %s call", (era) => {
  test("rejects a call without a stream at once, with requestMayHaveRun", async () => {
    const server = await ServerProcess.start();
    const client = closing(await connect(server.url, { era }));
    const failed = reasonOf(client.callTool("hold", { key: "a" }));
    await server.noted("holding a");
    await server.kill();
    const reason = await failed;
    expect(reason).toBeInstanceOf(CallFailure);
    expect(reason).toMatchObject({ code: "connection-closed", requestMayHaveRun: true });
    expect(reason.message).toContain(server.url);
  });

  test("rejects later calls as never run", async () => {
    const server = await ServerProcess.start();
    const client = closing(await connect(server.url, { era }));
    await client.callTool("echo", { text: "hi" });
    await server.kill();
    const attempts = Array.from({ length: 3 }, () => reasonOf(client.callTool("echo", { text: "hi" })));
    for (const reason of await Promise.all(attempts)) expect(reason).toMatchObject({ code: "connection-closed" });
    const reason = await reasonOf(client.callTool("echo", { text: "hi" }));
    expect(reason).toMatchObject({ code: "connection-closed", requestMayHaveRun: false });
    expect(reason.message).toContain("ECONNREFUSED");
  });
});

test("killing the server during a stream rejects its stateless call at once", async () => {
  const server = await ServerProcess.start();
  const client = closing(await connect(server.url, { era: "stateless" }));
  const received: number[] = [];
  const failed = reasonOf(
    client.callTool("hold", { key: "a" }, { onProgress: ({ progress }) => received.push(progress) }),
  );
  await server.noted("holding a");
  await server.ask("step", { key: "a" });
  await until(() => received.length === 1);
  await server.kill();
  expect(await failed).toMatchObject({ code: "connection-closed", requestMayHaveRun: true });
});

test("a call whose server is killed during a session's stream rejects after its idle timeout", async () => {
  const server = await ServerProcess.start({ quietMs: 1 });
  const client = closing(await connect(server.url, { era: "stateful", idleMs: 3_000 }));
  const received: number[] = [];
  const failed = reasonOf(
    client.callTool("hold", { key: "a" }, { onProgress: ({ progress }) => received.push(progress) }),
  );
  await server.noted("holding a");
  await server.ask("step", { key: "a" });
  await until(() => received.length === 1);
  await server.kill();
  expect(await failed).toMatchObject({ code: "timeout", requestMayHaveRun: true });
});

test("killing the server rejects HTTP+SSE calls at once, and later calls as never run", async () => {
  const server = await ServerProcess.start({ httpSse: true });
  const client = closing(await connect(http(new URL("/sse", server.url), { legacySse: true }), { era: "stateful" }));
  const failed = reasonOf(client.callTool("hold", { key: "a" }));
  await server.noted("holding a");
  await server.kill();
  expect(await failed).toMatchObject({ code: "connection-closed", requestMayHaveRun: true });
  expect(await reasonOf(client.ping())).toMatchObject({ code: "connection-closed", requestMayHaveRun: false });
});
