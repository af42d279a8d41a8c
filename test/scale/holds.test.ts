import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ServeHttpOptions } from "portolan/server/http";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Answer } from "../http/kit.ts";
import { begin, type SessionPeer, StatelessPeer } from "../http/peer.ts";
import { type RedisServer, startRedis } from "../storage/redis-server.ts";
import { ScaleNode } from "./nodes.ts";

// One test for each line of the table in docs/scale.md, with two and with three processes. Requests are sent to chosen
// processes, so that each test meets the case that a round robin meets by chance.

const stateful = "2025-11-25";

interface Nodes {
  readonly redis: RedisServer;
  readonly nodes: readonly ScaleNode[];
  /** The address of a node; they follow each other in a circle. */
  url(at: number): string;
  /** Begins a session at a node. */
  begin(at: number, user?: string): Promise<SessionPeer>;
  /** Returns what the handlers of a call did, in all nodes. */
  journal(call: string): string[];
}

async function startNodes(count: number, serve: ServeHttpOptions = {}): Promise<Nodes> {
  const redis = await startRedis();
  const folder = await mkdtemp(join(tmpdir(), "portolan-scale-"));
  const journal = join(folder, "journal.jsonl");
  const nodes = Array.from(
    { length: count },
    (_, at) => new ScaleNode({ name: `node ${at}`, redisPort: redis.port, journal, serve }),
  );
  onTestFinished(async () => {
    await Promise.all(nodes.map((node) => node.kill()));
    await redis.stop();
    await rm(folder, { recursive: true, force: true });
  });
  await Promise.all(nodes.map((node) => node.start()));
  const ports = nodes.map(({ port }) => port);
  const url = (at: number) => `http://127.0.0.1:${ports[at % count]}/mcp`;
  return {
    redis,
    nodes,
    url,
    begin: (at, user = "ada") =>
      begin(url(at), stateful, { headers: { authorization: user }, capabilities: { elicitation: {} } }),
    journal: (call) =>
      readFileSync(journal, "utf8")
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line) as { call: string; what: string })
        .filter((entry) => entry.call === call)
        .map(({ what }) => what),
  };
}

/** Opens the standalone stream of a session, and reads its opening event. */
async function listen(peer: SessionPeer, lastEventId?: string): Promise<{ stream: Answer; position: string }> {
  const stream = await peer.get(lastEventId);
  expect(stream.status).toBe(200);
  const position = lastEventId ?? (await stream.event())?.id ?? "";
  return { stream, position };
}

const uri = "note://a";

async function nextUri(stream: Answer): Promise<string> {
  const { method, params } = await stream.message();
  expect(method).toBe("notifications/resources/updated");
  return params.uri;
}

describe.each([2, 3])("with %i processes", (count) => {
  const all = Array.from({ length: count }, (_, at) => at);

  test("a session: every process serves it, and knows its end within a second", async () => {
    const { url, begin: beginAt } = await startNodes(count);
    const peer = await beginAt(0);
    for (const at of all) expect(await peer.at(url(at)).textOf("echo", { call: `echo ${at}` })).toContain("ada");
    expect((await peer.at(url(1)).delete()).status).toBeLessThan(300);
    const statuses = () => Promise.all(all.map(async (at) => (await peer.at(url(at)).request("tools/list")).status));
    await expect.poll(statuses, { timeout: 1_000, interval: 50 }).toEqual(all.map(() => 404));
  });

  test("changes of every process arrive on the one stream of a session, which is resumed at any process", async () => {
    const { url, nodes, begin: beginAt } = await startNodes(count);
    const peer = await beginAt(0);
    let { stream, position } = await listen(peer);
    await peer.at(url(1)).request("resources/subscribe", { uri });
    for (const at of all) {
      for (const node of nodes) {
        await node.publish(uri);
        const event = await stream.messageEvent();
        expect(JSON.parse(event.data).params.uri).toBe(uri);
        position = event.id ?? "";
      }
      stream.drop();
      await stream.closed;
      await nodes[at]?.publish(uri);
      ({ stream } = await listen(peer.at(url(at + 1)), position));
      const missed = await stream.messageEvent();
      expect(JSON.parse(missed.data).params.uri).toBe(uri);
      position = missed.id ?? "";
    }
  });

  test("a question: its answer reaches the handler through any process, and so does a cancellation", async () => {
    const { url, begin: beginAt, journal } = await startNodes(count);
    const peer = await beginAt(0);
    for (const at of all) {
      const asking = await peer.at(url(at)).call("ask", { call: `ask ${at}` });
      const question = await asking.message();
      expect(question.method).toBe("elicitation/create");
      await peer.at(url(at + 1)).answer(question.id, { action: "accept", content: { name: `Ada ${at}` } });
      const { result } = await asking.response();
      expect(JSON.parse(result.content[0].text)).toMatchObject({ answer: `Ada ${at}` });

      const call = `hold ${at}`;
      const held = peer.at(url(at)).call("hold", { call }, call);
      await expect.poll(() => journal(call)).toEqual(["started"]);
      await peer.at(url(at + 1)).cancel(call);
      await expect.poll(() => journal(call)).toEqual(["started", "aborted"]);
      (await held).drop();
    }
  });

  test("progress of a call goes to the stream of that call", async () => {
    const { url, nodes, begin: beginAt } = await startNodes(count);
    const peer = await beginAt(0);
    const { stream } = await listen(peer.at(url(1)));
    await peer.request("resources/subscribe", { uri });
    for (const at of all) {
      const working = await peer.at(url(at)).call("work", { call: `work ${at}`, steps: 3, stepMs: 10 }, at + 10);
      const messages = await working.messages();
      expect(messages.map(({ params }) => params?.progress)).toEqual([1, 2, 3, undefined]);
      expect(messages.at(-1)).toMatchObject({ id: at + 10 });
    }
    // The first message of the other stream comes from somewhere else.
    await nodes[0]?.publish(uri);
    expect(await nextUri(stream)).toBe(uri);
  });

  test("publish: every subscriber hears it once, whichever process has its stream", async () => {
    const { nodes, begin: beginAt } = await startNodes(count);
    const streams: Answer[] = [];
    for (const at of all) {
      for (const user of ["ada", "bob"]) {
        const peer = await beginAt(at, user);
        streams.push((await listen(peer)).stream);
        for (const one of [uri, "note://end"]) await peer.request("resources/subscribe", { uri: one });
      }
    }
    for (const node of nodes) await node.publish(uri);
    const heard = async (stream: Answer) => {
      const uris: string[] = [];
      while (uris.length < count) uris.push(await nextUri(stream));
      return uris;
    };
    for (const uris of await Promise.all(streams.map(heard))) expect(uris).toEqual(all.map(() => uri));
    // Nothing was doubled: the next event is the last one.
    await nodes[0]?.publish("note://end");
    for (const next of await Promise.all(streams.map(nextUri))) expect(next).toBe("note://end");
  });

  test("a state that the client carries: every process opens it", async () => {
    const { url } = await startNodes(count);
    const options = { headers: { authorization: "ada" }, capabilities: { elicitation: { form: {} } } };
    for (const at of all) {
      const args = { call: `ask ${at}` };
      const asked = await (await new StatelessPeer(url(at), options).call("ask", args)).response();
      expect(asked.result.resultType).toBe("input_required");
      const [key = ""] = Object.keys(asked.result.inputRequests);
      const answered = await new StatelessPeer(url(at + 1), options).request("tools/call", {
        name: "ask",
        arguments: args,
        requestState: asked.result.requestState,
        inputResponses: { [key]: { action: "accept", content: { name: "Ada" } } },
      });
      const { result } = await answered.response();
      expect(JSON.parse(result.content[0].text)).toMatchObject({ answer: "Ada" });
    }
  });

  test("limits of a caller: its sessions count in all processes, and those of others do not", async () => {
    const { url, begin: beginAt } = await startNodes(count, { sessions: { maxPerCaller: 4 } });
    for (let session = 0; session < 4; session += 1) await beginAt(session, "greedy");
    for (const at of all) await expect(beginAt(at, "greedy")).rejects.toThrow("429");
    const modest = await beginAt(0, "modest");
    expect(await modest.at(url(1)).textOf("echo", { call: "echo" })).toContain("modest");
  });

  test("a process that is killed: its sessions go on, and its call fails once and is not run again", async () => {
    const { url, nodes, begin: beginAt, journal } = await startNodes(count, { sessions: { leaseMs: 300 } });
    const peer = await beginAt(0);
    const working = await peer.call("work", { call: "lost", steps: 1_000, stepMs: 20 }, "lost");
    let position = "";
    for (let message = 0; message < 3; message += 1) position = (await working.messageEvent()).id ?? position;
    await nodes[0]?.kill();
    const next = peer.at(url(1));
    expect(await next.textOf("echo", { call: "echo" })).toContain("ada");
    const rest = await next.get(position);
    const last = (await rest.messages()).at(-1);
    expect(last).toMatchObject({ id: "lost", error: { message: expect.stringMatching(/process/) } });
    expect(journal("lost")).toEqual(["started"]);
    await nodes[0]?.start();
    expect(journal("lost")).toEqual(["started"]);
  });

  test("a process that is told to stop: running calls end, and others serve on", async () => {
    const { url, nodes, begin: beginAt, journal } = await startNodes(count);
    const peer = await beginAt(0);
    const working = await peer.call("work", { call: "last", steps: 20, stepMs: 20 }, "last");
    await working.message();
    const closed = nodes[0]?.close(10_000, 10_000);
    const refused = () =>
      peer.request("tools/list").then(
        ({ status }) => status,
        () => "refused",
      );
    await expect.poll(refused).not.toBe(200);
    expect(await peer.at(url(1)).textOf("echo", { call: "echo" })).toContain("ada");
    expect((await working.messages()).at(-1)).toMatchObject({ id: "last", result: {} });
    expect(await closed).toBeUndefined();
    expect(journal("last")).toEqual(["started", "finished"]);
  });

  test("Redis paused, restarted and emptied: no process ends, nothing hangs, and what is lost is told", async () => {
    const { redis, url, nodes, begin: beginAt } = await startNodes(count);
    const pids = nodes.map(({ pid }) => pid);
    const peer = await beginAt(0);
    const stateless = new StatelessPeer(url(0), { headers: { authorization: "ada" } });
    redis.pause();
    // A stateless call needs no Redis; a handshake does.
    expect(await stateless.textOf("echo", { call: "echo" })).toContain("ada");
    await expect(beginAt(1)).rejects.toThrow("503");
    redis.resume();
    const statusAt = async (at: number) => (await peer.at(url(at)).request("tools/list")).status;
    for (const at of all) await expect.poll(() => statusAt(at), { timeout: 20_000 }).toBe(200);

    await redis.restart();
    for (const at of all) await expect.poll(() => statusAt(at), { timeout: 90_000, interval: 250 }).toBe(404);
    await expect.poll(() => beginAt(1).then(() => "begun", String), { timeout: 20_000 }).toBe("begun");
    expect(nodes.map(({ pid }) => pid)).toEqual(pids);
    for (const node of nodes) expect(await node.measure()).toMatchObject({ descriptors: expect.any(Number) });
  }, 180_000);
});
