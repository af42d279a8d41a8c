import { fileURLToPath } from "node:url";
import { type CommandTarget, display, type FormQuestion, type HostEvent, type ServerSettings } from "portolan-host";
import type { Model } from "portolan-host/models";
import { expect, test, vi } from "vitest";
import { livingIn } from "../client/processes.ts";
import { makeHost, nextEvent, textOf } from "./kit.ts";

const program = fileURLToPath(new URL("./fixtures/faulty.mjs", import.meta.url));

function odd(way: string, settings: ServerSettings = {}): CommandTarget & ServerSettings {
  return { command: process.execPath, args: [program, way], graceMs: 100, ...settings };
}

test("a host with ten servers, most of them faulty, reports each fault, and the honest server keeps working", {
  timeout: 60_000,
}, async () => {
  const asked: FormQuestion[] = [];
  const ways = ["honest", "crashing", "looping", "flooding", "changing", "phishing", "painting", "huge", "stubborn"];
  const host = await makeHost({
    servers: {
      ...Object.fromEntries(ways.map((way) => [way, odd(way)])),
      silent: odd("silent", { connectMs: 1_500 }),
    },
    policy: [{ match: "*", then: "allow" }],
    answers: {
      elicit(question) {
        asked.push(question);
        return { action: "accept", content: { password: "hunter2" } };
      },
    },
  });
  const warnings = host.events({ kinds: ["warning", "definition"] });
  const statuses = await host.ready();
  expect(Object.fromEntries(statuses.map(({ name, state }) => [name, state]))).toMatchObject({
    honest: "ready",
    silent: "down",
    huge: "ready",
  });
  const say = (server: string) => host.callTool(server, "echo", { text: "hello" });

  // The honest server answers regardless of the others.
  const honest = async () => textOf(await say("honest"));
  expect(await honest()).toBe("honest: hello");
  await expect(say("silent")).rejects.toThrow(/silent is down.*did not answer within 1500 ms/);
  await expect(say("crashing")).rejects.toThrow(/exited with code 3[\s\S]*about to crash: no disk/);
  await expect(say("crashing")).rejects.toThrow(/crashing is down; next attempt in \d s/);
  expect(await honest()).toBe("honest: hello");

  // The question marks the password field as secret, and the password is not sent.
  expect(textOf(await say("phishing"))).toBe('{"action":"decline"}');
  expect(asked[0]).toMatchObject({ server: "phishing", secretFields: ["password"] });

  const painted = await say("painting");
  expect(display(textOf(painted))).toBe(String.raw`\u{1b}]0;owned\u{7}\u{1b}[31mred\u{1b}[0m`);
  expect(textOf(await say("huge")).length).toBe(5_200_000);

  expect(textOf(await say("changing"))).toMatch(/^changing: /);
  const { change } = await nextEvent(warnings, "definition", ({ server }) => server === "changing");
  expect(change.name).toBe("echo");
  await expect(say("changing")).rejects.toMatchObject({ code: "denied" });

  // The flood continues; the others answer, and the stored stderr stays bounded.
  expect(textOf(await say("flooding"))).toBe("flooding: hello");
  expect(await honest()).toBe("honest: hello");
  expect(host.servers.find(({ name }) => name === "flooding")?.stderr?.length).toBeLessThanOrEqual(256 * 1024);

  // Each call has one or two entries, also if it failed, and no entry contains text of another server.
  const calls = new Map<string, string>();
  for await (const { kind, id = "", server = "", ...rest } of host.activity.query({ kinds: ["call", "result"] })) {
    if (kind === "call") calls.set(id, server);
    else expect(calls.get(id)).toBe(server);
    if (server === "honest") expect(JSON.stringify(rest)).not.toMatch(/hunter2|owned|flooding/);
  }
  expect([...calls.values()].sort()).toEqual([
    ...["changing", "changing", "crashing", "crashing", "flooding", "honest", "honest", "honest"],
    ...["huge", "painting", "phishing", "silent"],
  ]);
  for await (const entry of host.activity.query()) expect(JSON.stringify(entry)).not.toContain("hunter2");
  expect(await host.activity.verify()).toMatchObject({ ok: true });
});

test("text of a hostile server reaches the model truncated, labelled and with hidden characters escaped", async () => {
  const requests: string[] = [];
  const model: Model = {
    id: "m",
    capabilities: { tools: true, images: false, contextTokens: 30_000 },
    async *stream(request) {
      requests.push(JSON.stringify(request));
      if (requests.length === 1) yield { type: "tool", id: "1", name: "huge__echo", input: {} };
      yield { type: "end", stopReason: requests.length === 1 ? "toolUse" : "endTurn", model: "m" };
    },
  };
  const host = await makeHost({
    servers: { huge: odd("huge"), painting: odd("painting") },
    policy: [{ then: "allow" }],
    model,
  });
  expect((await host.run("go").result).reason).toBe("done");
  expect(requests[0]).toContain(String.raw`[painting] Says it\\u{202e} again \\u{e0041}\\u{e0042}`);
  expect(requests[1]?.length).toBeLessThan(60_000);
  expect(requests[1]).toContain("read_more");
});

test("a crashed server is restarted, and its tools can be called again", { timeout: 30_000 }, async () => {
  const host = await makeHost({ servers: { looping: odd("looping") }, policy: [{ then: "allow" }] });
  const events = host.events({ kinds: ["server"] });
  await host.ready();
  const state = (wanted: string) => nextEvent(events, "server", ({ status }) => status.state === wanted);
  const down = await state("down");
  expect(down.status.reason).toContain("exited with code 1");
  await state("ready");
  expect(textOf(await host.callTool("looping", "echo", { text: "again" }))).toBe("looping: again");
  expect(host.servers[0]).toMatchObject({ state: "ready", restarts: 1 });
});

test("no process remains after 200 starts and stops of servers that ignore signals and have children", {
  timeout: 120_000,
}, async () => {
  const groups = new Set<number>();
  for (let round = 0; round < 10; round += 1) {
    const names = Array.from({ length: 20 }, (_, at) => `s${at}`);
    const host = await makeHost({ servers: Object.fromEntries(names.map((name) => [name, odd("stubborn")])) });
    await host.ready({ withinMs: 60_000 });
    for (const { pid, state, reason } of host.servers) {
      expect(state, reason).toBe("ready");
      groups.add(pid ?? 0);
    }
    await host.close();
  }
  expect(groups.size).toBe(200);
  // A killed process takes a moment to disappear.
  await vi.waitFor(() => expect(livingIn(groups)).toEqual([]), { timeout: 5_000 });
});

test("fifty servers killed at once are restarted exactly once each", { timeout: 120_000 }, async () => {
  const names = Array.from({ length: 50 }, (_, at) => `s${at}`);
  const host = await makeHost({
    servers: Object.fromEntries(names.map((name) => [name, odd("honest")])),
    startsAtOnce: 4,
  });
  await host.ready({ withinMs: 60_000 });
  const events = host.events({ kinds: ["server"] });
  for (const { pid } of host.servers) process.kill(pid ?? 0, "SIGKILL");
  const ready = new Set<string>();
  let starts = 0;
  while (ready.size < 50) {
    const { value }: { value: HostEvent } = await events.next();
    if (value.kind !== "server") continue;
    if (value.status.state === "starting") starts += 1;
    if (value.status.state === "ready") ready.add(value.server);
  }
  // No server was started more often than it was killed.
  expect(starts).toBe(50);
  expect(host.servers.every(({ restarts }) => restarts === 1)).toBe(true);
});
