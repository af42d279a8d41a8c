import type { JsonObject } from "portolan";
import { describe, expect, test } from "vitest";
import type { Answer, ReceivedMessage } from "../http/kit.ts";
import { begin, open, SessionPeer, StatelessPeer, textOf } from "../http/peer.ts";
import { until } from "../http-client/kit.ts";
import { metaKey } from "../kit/raw-peer.ts";
import { ServerProcess } from "./processes.ts";

const mebi = 1024 * 1024;
const filter = { notifications: { resourceSubscriptions: ["note://1"] } };

/** Calls the `flood` tool with logging enabled and reads nothing. */
async function flood(server: ServerProcess, revision: "2025-11-25" | "2026-07-28", args: JsonObject): Promise<Answer> {
  const params = { name: "flood", arguments: args, _meta: { progressToken: 1, [metaKey("logLevel")]: "debug" } };
  const peer = await open(server.url, revision);
  if (peer instanceof SessionPeer) await (await peer.request("logging/setLevel", { level: "debug" })).json();
  const answer = await peer.request("tools/call", params);
  answer.stall();
  return answer;
}

/** Resumes reading and resolves to all remaining messages. */
async function readRest(answer: Answer): Promise<ReceivedMessage[]> {
  answer.resume();
  return answer.messages();
}

const methodsOf = (messages: readonly ReceivedMessage[]): Set<unknown> => new Set(messages.map(({ method }) => method));

describe.each(["2025-11-25", "2026-07-28"] as const)("a client that does not read (%s)", (revision) => {
  test("loses progress and logs, but never the result", async () => {
    const server = await ServerProcess.start();
    const rounds = 1_000;
    const answer = await flood(server, revision, { kinds: ["progress", "log"], rounds, chars: 64 * 1024 });
    await server.noted("flooded");
    const messages = await readRest(answer);
    expect(textOf(messages.at(-1) ?? {})).toBe("flooded");
    expect(messages.length).toBeLessThan(rounds);
    expect(methodsOf(messages)).toEqual(new Set(["notifications/progress", "notifications/message", undefined]));
  });

  test("uses a bounded part of the server's memory, and other clients are served", async () => {
    const server = await ServerProcess.start();
    const before = await server.ask("memory");
    const others = await open(server.url, revision);
    const args = { kinds: ["progress", "log"], rounds: 1_000, chars: 64 * 1024 };
    await Promise.all([flood(server, revision, args), flood(server, revision, args)]);
    expect(await others.textOf("echo", { text: "alive" })).toBe("alive");
    await until(() => server.notes.length === 2);
    const after = await server.ask("memory");
    for (const part of ["heapUsed", "external"]) {
      expect((Number(after[part]) - Number(before[part])) / mebi, part).toBeLessThan(2 * 24);
    }
    expect(await others.textOf("echo", { text: "still" })).toBe("still");
  });

  test("receives the newest progress and later logs, because older progress is dropped first", async () => {
    const server = await ServerProcess.start();
    const rounds = 300;
    const answer = await flood(server, revision, { kinds: ["progress"], rounds, chars: 64 * 1024 });
    await server.noted("flooded");
    const messages = await readRest(answer);
    const progress = messages.filter(({ method }) => method === "notifications/progress");
    expect(progress.length).toBeLessThan(rounds);
    expect(progress.at(-1)?.params.progress).toBe(rounds);
    expect(
      messages.filter(({ method }) => method === "notifications/message").map(({ params }) => params.data),
    ).toEqual(["after all"]);
  });

  test("is disconnected when its backlog of updates is too large, and other clients receive all updates", async () => {
    const server = await ServerProcess.start({ limits: { backlog: mebi } });
    const listen = async () => {
      const peer = await open(server.url, revision);
      if (peer instanceof StatelessPeer) return peer.request("subscriptions/listen", filter);
      await (await peer.request("resources/subscribe", { uri: "note://1" })).json();
      const stream = await peer.get();
      await peer.textOf("echo", { text: "the stream is there" });
      return stream;
    };
    const [stalled, reading] = [await listen(), await listen()];
    if (revision === "2026-07-28") for (const stream of [stalled, reading]) await stream.message();
    const before = await server.heapUsed();
    stalled.stall();
    const times = 1_000;
    // A subscription to a URI covers its children; a long URI fills the connection sooner.
    const payload = { uri: `note://1/${"x".repeat(2_000)}` };
    for (let wave = 0; wave < 10; wave += 1) {
      await server.ask("publish", { topic: "resources/updated", payload, times });
      for (let count = 0; count < times; count += 1) {
        expect((await reading.message()).method).toBe("notifications/resources/updated");
      }
    }
    await stalled.gone();
    expect((await server.heapUsed()) - before).toBeLessThan(16 * mebi);
    expect(await (await open(server.url, revision)).textOf("echo", { text: "alive" })).toBe("alive");
  });
});

test("a resumed stream delivers everything, even more than the backlog limit", async () => {
  const server = await ServerProcess.start();
  const peer = await begin(server.url, "2025-11-25");
  const rounds = 300;
  const answer = await peer.call("flood", { kinds: ["progress"], rounds, chars: 64 * 1024 });
  const first = await answer.event();
  answer.drop();
  await server.noted("flooded");
  const rest = await (await peer.get(first?.id)).messages();
  expect(textOf(rest.at(-1) ?? {})).toBe("flooded");
  expect(rest.filter(({ method }) => method === "notifications/progress")).toHaveLength(rounds);
});

test("the memory for resumable streams is bounded", async () => {
  const server = await ServerProcess.start();
  const peer = await begin(server.url, "2025-11-25");
  const before = await server.heapUsed();
  for (let calls = 0; calls < 40; calls += 1) {
    const answer = await peer.call("flood", { kinds: ["progress"], rounds: 100, chars: 64 * 1024 });
    expect(textOf((await answer.messages()).at(-1) ?? {})).toBe("flooded");
  }
  expect(((await server.heapUsed()) - before) / mebi).toBeLessThan(128);
});
