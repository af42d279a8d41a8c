import { connect } from "portolan/client";
import { describe, expect, test } from "vitest";
import { createFixture } from "../http/fixture.ts";
import { start } from "../http/kit.ts";
import { closing, reasonOf, textOf, until } from "../http-client/kit.ts";
import { type Cut, Relay } from "./relay.ts";
import { Watched } from "./watched.ts";

const steps = 8;
const cuts: readonly { readonly where: string; readonly cut: Cut }[] = [
  { where: "after two events", cut: { events: 2 } },
  { where: "in the middle of an event", cut: { bytes: 1_000 } },
];

/** Starts a server behind a proxy that cuts every stream. */
async function startBehindProxy(cut: Cut) {
  const { server } = createFixture();
  let calls = 0;
  server.update((current) =>
    current.tool("count", {
      run: async (_, context) => {
        calls += 1;
        for (let step = 1; step <= steps; step += 1) {
          context.progress(step, steps, "in progress");
          await new Promise((resolve) => setImmediate(resolve));
        }
        return "counted";
      },
    }),
  );
  const { url } = await start(server);
  const relay = await Relay.start(url, cut);
  return { server, relay, calls: () => calls };
}

/** Returns a function that acts on its first call only. */
function once(act: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) act();
    isDone = true;
  };
}

describe.each(cuts)("behind a proxy that cuts every stream $where", ({ cut }) => {
  test.each(["2025-06-18", "2025-11-25"])("a call is resumed until it is complete (%s)", async (era) => {
    const { relay, calls } = await startBehindProxy(cut);
    const client = closing(await connect(relay.url, { era }));
    const received: number[] = [];
    const result = await client.callTool("count", {}, { onProgress: ({ progress }) => received.push(progress) });
    expect([textOf(result), received, calls()]).toEqual(["counted", [1, 2, 3, 4, 5, 6, 7, 8], 1]);
    expect(relay.cuts).toBeGreaterThan(1);
  });

  test("a stateless call rejects with requestMayHaveRun and is not retried", async () => {
    const { relay, calls } = await startBehindProxy(cut);
    const client = closing(await connect(relay.url, { era: "stateless" }));
    const received: number[] = [];
    const onProgress = ({ progress }: { progress: number }) => received.push(progress);
    const reason = await reasonOf(client.callTool("count", {}, { onProgress }));
    expect(reason).toMatchObject({ code: "connection-closed", requestMayHaveRun: true });
    expect(received.length).toBeGreaterThan(0);
    expect([calls(), textOf(await client.callTool("echo", { text: "next" }))]).toEqual([1, "next"]);
  });

  test.each(["2025-11-25", "2026-07-28"])("changes are received after each cut (%s)", async (era) => {
    const { server, relay } = await startBehindProxy(cut);
    const client = closing(await connect(relay.url, { era }));
    const watched = new Watched(await client.watch({ tools: true, uris: ["note://1"] }));
    const update = () => server.publish("resources/updated", { uri: "note://1" });
    const grow = () => server.publish("tools/list_changed", {});
    while (relay.cuts < 3) {
      // A session replays missed changes; without one, a change must be published while the client listens.
      await watched.receives({ kind: "resource", uri: "note://1" }, era === "2026-07-28" ? update : once(update));
      await watched.receives({ kind: "tools" }, era === "2026-07-28" ? grow : once(grow));
    }
    expect(textOf(await client.callTool("echo", { text: "still" }))).toBe("still");
  });
});

test("messages sent while the stream of a session is cut are delivered afterwards", async () => {
  const { server, relay } = await startBehindProxy({});
  const heard: string[] = [];
  const onLog = ({ data }: { data: unknown }) => heard.push(String(data));
  closing(await connect(relay.url, { era: "stateful", logLevel: "info", onLog }));
  server.publish("message", { level: "info", data: "before" });
  await until(() => heard.length === 1);
  relay.destroyAll();
  for (const data of ["meanwhile", "and later"]) server.publish("message", { level: "info", data });
  await until(() => heard.length === 3);
  expect(heard).toEqual(["before", "meanwhile", "and later"]);
});

test("a stream of a session that is cut twice in a row delivers no message twice", async () => {
  const { server, relay } = await startBehindProxy({});
  const heard: string[] = [];
  const onLog = ({ data }: { data: unknown }) => heard.push(String(data));
  closing(await connect(relay.url, { era: "2025-11-25", logLevel: "info", onLog }));
  server.publish("message", { level: "info", data: "one" });
  await until(() => heard.length === 1);
  for (const streams of [2, 3]) {
    relay.destroyAll();
    await until(() => relay.streams === streams);
  }
  server.publish("message", { level: "info", data: "two" });
  await until(() => heard.includes("two"));
  expect(heard).toEqual(["one", "two"]);
});
