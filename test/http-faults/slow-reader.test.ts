import type { JsonObject } from "portolan";
import { describe, expect, test } from "vitest";
import type { Answer, ReceivedMessage } from "../http/kit.ts";
import { begin, open, SessionPeer, StatelessPeer, textOf } from "../http/peer.ts";
import { until } from "../http-client/kit.ts";
import { metaKey } from "../kit/raw-peer.ts";
import { ServerProcess } from "./processes.ts";

const mebi = 1024 * 1024;
const filter = { notifications: { resourceSubscriptions: ["note://1"] } };

/** Calls the tool that floods its caller, who hears of its logs and reads nothing. */
async function flood(server: ServerProcess, revision: "2025-11-25" | "2026-07-28", args: JsonObject): Promise<Answer> {
  const params = { name: "flood", arguments: args, _meta: { progressToken: 1, [metaKey("logLevel")]: "debug" } };
  const peer = await open(server.url, revision);
  if (peer instanceof SessionPeer) await (await peer.request("logging/setLevel", { level: "debug" })).json();
  const answer = await peer.request("tools/call", params);
  answer.stall();
  return answer;
}

/** Everything that a client which begins to read again still hears. */
async function readOn(answer: Answer): Promise<ReceivedMessage[]> {
  answer.resume();
  return answer.messages();
}

const methodsOf = (said: readonly ReceivedMessage[]): Set<unknown> => new Set(said.map(({ method }) => method));

describe.each(["2025-11-25", "2026-07-28"] as const)("a client that does not read (%s)", (revision) => {
  test("loses progress and logs, and never the result", async () => {
    const server = await ServerProcess.start();
    const rounds = 1_000;
    const answer = await flood(server, revision, { kinds: ["progress", "log"], rounds, chars: 64 * 1024 });
    await server.noted("flooded");
    const said = await readOn(answer);
    expect(textOf(said.at(-1) ?? {})).toBe("flooded");
    expect(said.length).toBeLessThan(rounds);
    expect(methodsOf(said)).toEqual(new Set(["notifications/progress", "notifications/message", undefined]));
  });

  test("costs the server a bounded part of its memory, and the others nothing", async () => {
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

  test("hears the newest progress and the logs after it, for progress is thinned out first", async () => {
    const server = await ServerProcess.start();
    const rounds = 300;
    const answer = await flood(server, revision, { kinds: ["progress"], rounds, chars: 64 * 1024 });
    await server.noted("flooded");
    const said = await readOn(answer);
    const told = said.filter(({ method }) => method === "notifications/progress");
    expect(told.length).toBeLessThan(rounds);
    expect(told.at(-1)?.params.progress).toBe(rounds);
    expect(said.filter(({ method }) => method === "notifications/message").map(({ params }) => params.data)).toEqual([
      "after all",
    ]);
  });

  test("is cut when it leaves too much unread that may not be lost, and the others hear it all", async () => {
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
    // An address stands for what lies below it; a long one fills the connection sooner.
    const payload = { uri: `note://1/${"x".repeat(2_000)}` };
    for (let wave = 0; wave < 10; wave += 1) {
      await server.ask("publish", { topic: "resources/updated", payload, times });
      for (let heard = 0; heard < times; heard += 1) {
        expect((await reading.message()).method).toBe("notifications/resources/updated");
      }
    }
    await stalled.gone();
    expect((await server.heapUsed()) - before).toBeLessThan(16 * mebi);
    expect(await (await open(server.url, revision)).textOf("echo", { text: "alive" })).toBe("alive");
  });
});

test("a client that comes back to more than it may leave unread hears it all", async () => {
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

test("what is kept for clients that may come back is bounded, however much it was", async () => {
  const server = await ServerProcess.start();
  const peer = await begin(server.url, "2025-11-25");
  const before = await server.heapUsed();
  for (let calls = 0; calls < 40; calls += 1) {
    const answer = await peer.call("flood", { kinds: ["progress"], rounds: 100, chars: 64 * 1024 });
    expect(textOf((await answer.messages()).at(-1) ?? {})).toBe("flooded");
  }
  expect(((await server.heapUsed()) - before) / mebi).toBeLessThan(128);
});
