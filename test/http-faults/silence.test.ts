import { connect } from "portolan/client";
import { http } from "portolan/client/http";
import { describe, expect, test } from "vitest";
import { createFixture } from "../http/fixture.ts";
import { start } from "../http/kit.ts";
import { closing, reasonOf, textOf, until } from "../http-client/kit.ts";
import { Relay } from "./relay.ts";
import { Watched } from "./watched.ts";

/** Starts a server that keeps its streams alive, behind a proxy that can fall silent. */
async function startBehindProxy() {
  const fixture = createFixture();
  const { url } = await start(fixture.server, { keepAliveMs: 20 });
  return { fixture, relay: await Relay.start(url) };
}

describe.each(["2025-06-18", "2025-11-25", "2026-07-28"])("connections that fall silent without an end (%s)", (era) => {
  test("reject a call after its idle timeout, and later calls are answered", async () => {
    const { fixture, relay } = await startBehindProxy();
    const client = closing(await connect(relay.url, { era, idleMs: 400 }));
    const failed = reasonOf(client.callTool("hold", { key: "a" }));
    await fixture.noted("holding a");
    relay.silence();
    expect(await failed).toMatchObject({ code: "timeout", requestMayHaveRun: true });
    // Idle connections may be dead as well; each of them costs a call.
    await until(() =>
      client.callTool("echo", { text: "next" }).then(
        (result) => textOf(result) === "next",
        (reason) => {
          expect(reason).toMatchObject({ code: "timeout" });
          return false;
        },
      ),
    );
  });

  test.each([
    ["its stream", "streams"],
    ["all connections, idle ones too", "all"],
  ] as const)(
    "are detected by a watch, which continues on new connections: %s",
    async (_, which) => {
      const { fixture, relay } = await startBehindProxy();
      const client = closing(await connect(http(relay.url, { idleStreamMs: 200 }), { era, idleMs: 1_000 }));
      const watched = new Watched(await client.watch({ uris: ["note://1"] }));
      const changed = { kind: "resource", uri: "note://1" } as const;
      const publish = () => fixture.server.publish("resources/updated", { uri: "note://1" });
      await watched.receives(changed, publish);
      // The client treats silence as a failure only after a keep-alive comment.
      await until(() => relay.keepAlives > 0);
      await client.ping();
      for (const _ of ["once", "twice"]) {
        relay.silence(which);
        await watched.receives(changed, publish);
      }
    },
    10_000,
  );
});

test.each(["2025-06-18", "2025-11-25"])("a call in a session survives a silent connection (%s)", async (era) => {
  const { fixture, relay } = await startBehindProxy();
  const client = closing(await connect(http(relay.url, { idleStreamMs: 200 }), { era }));
  const received: number[] = [];
  const onProgress = ({ progress }: { progress: number }) => received.push(progress);
  const result = client.callTool("hold", { key: "a" }, { onProgress });
  result.catch(() => {});
  await fixture.noted("holding a");
  fixture.step("a");
  await until(() => received.length === 1 && relay.keepAlives > 0);
  relay.silence();
  fixture.step("a");
  await until(() => received.length === 2);
  fixture.release("a");
  expect([textOf(await result), received]).toEqual(["released a", [1, 2]]);
});

test("a stateless call rejects when its stream falls silent after a keep-alive comment", async () => {
  const { fixture, relay } = await startBehindProxy();
  const client = closing(await connect(http(relay.url, { idleStreamMs: 200 }), { era: "stateless" }));
  let steps = 0;
  const failed = reasonOf(client.callTool("hold", { key: "a" }, { onProgress: () => (steps += 1) }));
  await fixture.noted("holding a");
  fixture.step("a");
  await until(() => steps === 1 && relay.keepAlives > 0);
  relay.silence();
  const reason = await failed;
  expect(reason).toMatchObject({ code: "connection-closed", requestMayHaveRun: true });
  expect(reason.message).toContain("silent for 200 ms");
});

test.each(["auto", "stateless", "stateful"])(
  "connect rejects with a timeout if the server accepts connections and stays silent (%s)",
  async (era) => {
    const { relay } = await startBehindProxy();
    relay.isMute = true;
    const reason = await reasonOf(connect(relay.url, { era, connectMs: 400, probeMs: 100 }));
    expect(reason).toMatchObject({ code: "timeout" });
  },
);

test("closing does not wait for a silent server", async () => {
  const { fixture, relay } = await startBehindProxy();
  const client = await connect(relay.url, { era: "stateful" });
  const failed = reasonOf(client.callTool("hold", { key: "a" }));
  await fixture.noted("holding a");
  relay.isMute = true;
  relay.silence();
  await client.close();
  expect(await failed).toMatchObject({ code: "connection-closed", requestMayHaveRun: true });
});
