import { CallFailure, connect } from "portolan/client";
import { http } from "portolan/client/http";
import { describe, expect, test } from "vitest";
import { createFixture } from "../http/fixture.ts";
import { start } from "../http/kit.ts";
import { begin, StatelessPeer, textOf } from "../http/peer.ts";
import { closing, reasonOf, until } from "../http-client/kit.ts";
import { Forked, ServerProcess } from "./processes.ts";

/** Closing waits for everything that runs and for every connection, so that it ends only where nothing was left. */
const patienceMs = 2 ** 30;

/** A client process in the middle of a call that has told its progress. */
async function inMidStream(era: "stateless" | "stateful") {
  const fixture = createFixture();
  const server = await start(fixture.server, { limits: { streams: 2 }, quietMs: 1 });
  const client = new Forked("client.mjs", [server.url, era]);
  await client.heard((message) => "watching" in message);
  await fixture.noted("holding a");
  fixture.step("a");
  await client.heard(({ progress }) => progress === 1);
  return { fixture, server, client, warnings: [...fixture.reported] };
}

describe("a client process that is killed in the middle of a stream", () => {
  test("cancels its call where nothing else could tell, and leaves nothing behind", async () => {
    const { fixture, server, client } = await inMidStream("stateless");
    await client.kill();
    await fixture.noted("aborted a");
    const peer = new StatelessPeer(server.url);
    const listen = () => peer.request("subscriptions/listen", { notifications: { toolsListChanged: true } });
    // Both streams that there may be are free again.
    await until(async () => (await listen()).isStream);
    const other = await listen();
    expect(other.isStream).toBe(true);
    await server.close(0);
  });

  test("leaves nothing that a server would wait for", async () => {
    const { fixture, server, client, warnings } = await inMidStream("stateless");
    await client.kill();
    await fixture.noted("aborted a");
    await server.close(patienceMs);
    expect(fixture.reported).toEqual(warnings);
  });

  test("does not cancel its call in a session, which somebody else goes on with", async () => {
    const { fixture, server, client, warnings } = await inMidStream("stateful");
    const { session } = await client.heard((message) => "session" in message);
    const events = client.said.flatMap(({ event }) => (event === undefined ? [] : [String(event)]));
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

test("the subscriptions of client processes that are killed are let go", async () => {
  const server = await ServerProcess.start();
  const clients = Array.from({ length: 5 }, () => new Forked("client.mjs", [server.url, "stateless"]));
  for (const client of clients) await client.heard((message) => "watching" in message);
  await until(async () => (await server.ask("counts"))["running"] === 5);
  expect(await server.ask("counts")).toEqual({ running: 5, watching: 1 });
  await Promise.all(clients.map((client) => client.kill()));
  await until(async () => (await server.ask("counts"))["watching"] === 0);
  await until(async () => (await server.ask("counts"))["running"] === 0);
});

describe.each(["stateless", "stateful"] as const)(
  "a server process that is killed in the middle of a %s call",
  (era) => {
    test("fails the call at once while its answer could still be JSON, and says that it may have run", async () => {
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

    test("fails the calls that follow, which did not run", async () => {
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
  },
);

test("a server process that is killed in the middle of a stream fails its stateless call at once", async () => {
  const server = await ServerProcess.start();
  const client = closing(await connect(server.url, { era: "stateless" }));
  const told: number[] = [];
  const failed = reasonOf(client.callTool("hold", { key: "a" }, { onProgress: ({ progress }) => told.push(progress) }));
  await server.noted("holding a");
  await server.ask("step", { key: "a" });
  await until(() => told.length === 1);
  await server.kill();
  expect(await failed).toMatchObject({ code: "connection-closed", requestMayHaveRun: true });
});

test("a server process that is killed in the middle of a session's stream may come back as long as its client waits", async () => {
  const server = await ServerProcess.start({ quietMs: 1 });
  const client = closing(await connect(server.url, { era: "stateful", idleMs: 3_000 }));
  const told: number[] = [];
  const failed = reasonOf(client.callTool("hold", { key: "a" }, { onProgress: ({ progress }) => told.push(progress) }));
  await server.noted("holding a");
  await server.ask("step", { key: "a" });
  await until(() => told.length === 1);
  await server.kill();
  expect(await failed).toMatchObject({ code: "timeout", requestMayHaveRun: true });
});

test("a server process that is killed fails the calls of a client of HTTP+SSE at once, and those made later as never run", async () => {
  const server = await ServerProcess.start({ httpSse: true });
  const client = closing(await connect(http(new URL("/sse", server.url), { legacySse: true }), { era: "stateful" }));
  const failed = reasonOf(client.callTool("hold", { key: "a" }));
  await server.noted("holding a");
  await server.kill();
  expect(await failed).toMatchObject({ code: "connection-closed", requestMayHaveRun: true });
  expect(await reasonOf(client.ping())).toMatchObject({ code: "connection-closed", requestMayHaveRun: false });
});
