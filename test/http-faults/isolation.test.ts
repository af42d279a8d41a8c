import { expect, test } from "vitest";
import { createFixture } from "../http/fixture.ts";
import { start } from "../http/kit.ts";
import { open, SessionPeer, textOf } from "../http/peer.ts";

const clients = 200;
const rounds = 3;
const steps = 10;

test.each(["2025-03-26", "2025-11-25", "2026-07-28"] as const)(
  "200 clients with equal ids and progress tokens receive only their own messages (%s)",
  async (revision) => {
    const { server } = createFixture();
    server.update((current) =>
      current.tool("chat", {
        run: async ({ name }, context) => {
          for (let step = 1; step <= steps; step += 1) {
            context.progress(step, steps, String(name));
            // Other clients are served between any two steps.
            await new Promise((resolve) => setImmediate(resolve));
          }
          return String(name);
        },
      }),
    );
    const { url } = await start(server, { sessions: { perMinute: 10_000 } });
    const peers = await Promise.all(Array.from({ length: clients }, () => open(url, revision)));
    for (let round = 0; round < rounds; round += 1) {
      const calls = peers.map(async (peer, index) => {
        const name = `client ${index} in round ${round}`;
        const answer = await peer.call("chat", { name }, "the same");
        const messages = await answer.messages();
        const result = messages.pop();
        expect([result?.id, textOf(result ?? {})]).toEqual(["the same", name]);
        expect(messages.map(({ params }) => [params.progressToken, params.progress, params.message])).toEqual(
          Array.from({ length: steps }, (_, step) => ["token the same", step + 1, name]),
        );
      });
      await Promise.all(calls);
    }
  },
);

test.each(["2025-11-25", "2026-07-28"] as const)(
  "200 clients that listen with the same id receive updates of their own resources only (%s)",
  async (revision) => {
    const { server } = createFixture();
    server.update((current) =>
      Array.from({ length: clients }, (_, index) => `own://${index}`).reduce(
        (grown, uri) => grown.resource(uri, { name: uri, subscribe: true, read: () => uri }),
        current,
      ),
    );
    const { url } = await start(server, { sessions: { perMinute: 10_000 } });
    const streams = await Promise.all(
      Array.from({ length: clients }, async (_, index) => {
        const uri = `own://${index}`;
        const peer = await open(url, revision);
        if (peer instanceof SessionPeer) {
          await (await peer.request("resources/subscribe", { uri })).json();
          const stream = await peer.get();
          await peer.textOf("echo", { text: "the stream is there" });
          return stream;
        }
        const stream = await peer.request("subscriptions/listen", { notifications: { resourceSubscriptions: [uri] } });
        await stream.message();
        return stream;
      }),
    );
    for (let index = 0; index < clients; index += 1) server.publish("resources/updated", { uri: `own://${index}` });
    for (const [index, stream] of streams.entries()) {
      expect((await stream.message()).params.uri).toBe(`own://${index}`);
    }
    // If a client had received another's update, this would not be its next message.
    for (let index = 0; index < clients; index += 1) server.publish("resources/updated", { uri: `own://${index}` });
    for (const [index, stream] of streams.entries()) {
      expect((await stream.message()).params.uri).toBe(`own://${index}`);
    }
  },
);
