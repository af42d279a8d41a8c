import { createServer, live } from "portolan/server";
import { createMemoryStorage } from "portolan/storage";
import { createClock } from "portolan/testing";
import { memorySink, openActivity, type ServerEntry } from "portolan-host";
import { describe, expect, test, vi } from "vitest";
import {
  activityEntries,
  allow,
  collectEvents,
  createModel,
  entryFromFile,
  greeter,
  inMemory,
  makeHost,
  nextEvent,
  textOf,
} from "./kit.ts";

describe("servers", () => {
  test("an eager server starts with the host, other servers stay idle", async () => {
    const host = await makeHost({ servers: { now: inMemory(greeter(), { eager: true }), later: inMemory(greeter()) } });
    await vi.waitFor(() => expect(host.servers.map(({ state }) => state)).toEqual(["ready", "idle"]));
  });

  test("each state change is reported and logged once", async () => {
    const host = await makeHost({ servers: { s: inMemory(greeter()) } });
    const events = host.events({ kinds: ["server"] });
    const states: string[] = [];
    const reading = (async () => {
      for await (const event of events) if (event.kind === "server") states.push(event.status.state);
    })();
    await host.start("s");
    await host.stop("s");
    await host.stop("s");
    expect((await activityEntries(host, "server")).map(({ state }) => state)).toEqual(["starting", "ready", "idle"]);
    await host.close();
    await reading;
    expect(states).toEqual(["starting", "ready", "idle", "closed"]);
  });

  test("a closed host leaves no timer and reports no more changes", async () => {
    const clock = createClock();
    const server = live(greeter());
    const host = await makeHost({ clock, servers: { s: inMemory(server, { era: "2026-07-28" }) }, policy: allow });
    const events = host.events({ kinds: ["catalog"] });
    await host.start("s");
    await host.callTool("s", "greet");
    for (const name of ["one", "two", "three"]) {
      server.update((current) => current.tool(name, { run: () => name }));
      await clock.advance(0);
    }
    await nextEvent(events, "catalog");
    await host.close();
    // Lets the timer of the activity log run, which the call started.
    await clock.advance(100);
    expect(clock.pending).toBe(0);
    await clock.advance(10_000);
    expect(await collectEvents(events)).toEqual([]);
  });

  test("a run starts its servers, and reports those that cannot take part", async () => {
    const host = await makeHost({
      servers: {
        here: inMemory(greeter()),
        elsewhere: inMemory(greeter()),
        gone: { command: process.execPath, args: ["-e", "process.exit(7)"] },
        off: inMemory(greeter(), { disabled: true }),
      },
    });
    const notices: string[] = [];
    const servers = ["here", "gone", "off"];
    for await (const event of host.run("go", { model: createModel({ say: "ok" }), servers })) {
      if (event.type === "notice") notices.push(event.text);
    }
    expect(notices).toEqual([expect.stringMatching(/^gone is not used: it is down, .*code 7/)]);
    expect(host.servers.map(({ state }) => state)).toEqual(["ready", "idle", "down", "disabled"]);
  });

  test("runs wait only once for a server that hangs, and use it as soon as it is ready", async () => {
    const clock = createClock();
    let answers: () => void = () => {};
    const opened = new Promise<void>((resolve) => {
      answers = resolve;
    });
    const target = inMemory(greeter());
    const hangs = { open: () => opened.then(() => target.open()) };
    const host = await makeHost({ clock, servers: { here: inMemory(greeter()), hangs } });
    const ask = async () => {
      const model = createModel({ say: "ok" });
      const notices: string[] = [];
      for await (const event of host.run("go", { model })) if (event.type === "notice") notices.push(event.text);
      return { notices, tools: model.asked[0]?.tools?.map(({ name }) => name) };
    };
    const first = ask();
    await vi.waitFor(() => expect(host.servers.map(({ state }) => state)).toEqual(["ready", "starting"]));
    expect(host.servers[1]).not.toHaveProperty("isOverdue");
    await clock.advance(10_000);
    const without = { notices: ["hangs is not used yet: it is still starting"], tools: ["here__greet"] };
    expect(await first).toEqual(without);
    expect(host.servers[1]).toMatchObject({ state: "starting", isOverdue: true });
    // The clock stands still, so this run ends only if it does not wait.
    expect(await ask()).toEqual(without);
    answers();
    await vi.waitFor(() => expect(host.servers[1]?.state).toBe("ready"));
    expect(host.servers[1]).not.toHaveProperty("isOverdue");
    expect(await ask()).toEqual({ notices: [], tools: ["here__greet", "hangs__greet"] });
  });

  test("ready waits for the user who is asked whether a server may start", async () => {
    const clock = createClock();
    let answer: (allow: boolean) => void = () => {};
    let wasAsked = false;
    const trust = () => {
      wasAsked = true;
      return new Promise<boolean>((resolve) => {
        answer = resolve;
      });
    };
    const host = await makeHost({ clock, servers: [entryFromFile(inMemory(greeter()))], answers: { trust } });
    const ready = host.ready();
    await vi.waitFor(() => expect(wasAsked).toBe(true));
    await clock.advance(60_000);
    answer(true);
    expect(await ready).toMatchObject([{ state: "ready" }]);
  });

  test("runs do not wait again for a server whose start failed slowly", async () => {
    const clock = createClock();
    const hangs = { open: () => new Promise<never>(() => {}), connectMs: 3_000 };
    const host = await makeHost({ clock, servers: { hangs } });
    const first = host.run("go", { model: createModel({ say: "ok" }) });
    await vi.waitFor(() => expect(host.servers[0]?.state).toBe("starting"));
    await clock.advance(3_000);
    await first.result;
    expect(host.servers[0]?.state).toBe("down");
    await clock.advance(2_000);
    expect((await host.run("go", { model: createModel({ say: "ok" }) }).result).reason).toBe("done");
    expect(host.servers[0]?.state).toBe("starting");
  });

  test("a value that looks like a key is not logged, even under a harmless name", async () => {
    const key = "Zm9vYmFyYmF6cXV4cXV1eA";
    const loud = createServer({ name: "loud", version: "1.0.0" }).tool("leak", { run: () => `it is ${key}` });
    const entry: ServerEntry = {
      name: "s",
      target: inMemory(loud),
      configured: { command: "x", env: { CODE: key } },
      settings: {},
      source: { kind: "code" },
    };
    const host = await makeHost({ servers: [entry], policy: allow });
    expect(textOf(await host.callTool("s", "leak"))).toContain(key);
    const log = JSON.stringify(await activityEntries(host, "call"));
    expect(log).toContain("it is");
    expect(log).not.toContain(key);
  });

  test("trust for always is kept in the storage, trust without a duration is not", async () => {
    const storage = createMemoryStorage();
    const entry = entryFromFile(inMemory(greeter()));
    const stateAfter = async (verdict?: { allow: boolean; for?: "always" }) => {
      const host = await makeHost({ servers: [entry], storage });
      const before = host.servers[0]?.state;
      if (verdict) await host.trust("s", verdict);
      await host.close();
      return before;
    };
    expect(await stateAfter({ allow: true })).toBe("untrusted");
    expect(await stateAfter({ allow: true, for: "always" })).toBe("untrusted");
    expect(await stateAfter()).toBe("idle");
  });
});

describe("events", () => {
  test("a reader gets only events of the kinds and the server it selects", async () => {
    const host = await makeHost({ servers: { a: inMemory(greeter()), b: inMemory(greeter()) }, policy: allow });
    const ofA = host.events({ server: "a" });
    const calls = host.events({ kinds: ["call"] });
    for (const server of ["a", "b"]) await host.callTool(server, "greet");
    await host.close();
    const eventsOfA = await collectEvents(ofA);
    expect(new Set(eventsOfA.map(({ server }) => server))).toEqual(new Set(["a"]));
    expect(eventsOfA.map(({ kind }) => kind)).toEqual(expect.arrayContaining(["server", "call", "ended"]));
    expect((await collectEvents(calls)).map(({ kind, server }) => [kind, server])).toEqual([
      ["call", "a"],
      ["call", "b"],
    ]);
  });

  test("a log message is an event, truncated to 65536 characters", async () => {
    const server = createServer({ name: "s", version: "1.0.0" }).tool("log", {
      run(_, ctx) {
        ctx.log("info", { rows: 3 }, "db");
        ctx.log("error", "x".repeat(1_000_000));
        return "logged";
      },
    });
    const host = await makeHost({ servers: { s: inMemory(server) }, policy: allow });
    const events = host.events({ kinds: ["log"] });
    await host.callTool("s", "log");
    expect(await nextEvent(events, "log")).toMatchObject({ level: "info", logger: "db", data: { rows: 3 } });
    const { data } = await nextEvent(events, "log");
    expect(String(data)).toMatch(/^x{65536} \(934464 more characters\)$/);
  });

  test("an unread state is replaced by a newer one", async () => {
    const host = await makeHost({ servers: { s: inMemory(greeter()) } });
    const events = host.events({ kinds: ["server"] });
    for (let at = 0; at < 3; at += 1) {
      await host.start("s");
      await host.stop("s");
    }
    await host.close();
    expect(await collectEvents(events)).toMatchObject([{ status: { state: "closed" } }]);
  });

  test("a call has start, progress and end events, and the end event names the outcome", async () => {
    const server = greeter()
      .tool("work", {
        async run(_, ctx) {
          for (let at = 0; at < 5_000; at += 1) ctx.progress(at);
          return "done";
        },
      })
      .tool("wait", { run: () => new Promise(() => {}) });
    const host = await makeHost({ servers: { s: inMemory(server) }, policy: allow });
    await host.ready();
    const events = host.events({ kinds: ["call", "progress", "ended"] });
    await host.callTool("s", "work");
    const stop = new AbortController();
    const waiting = host.callTool("s", "wait", {}, { signal: stop.signal });
    stop.abort();
    await expect(waiting).rejects.toThrow();
    const failing = host.callTool("s", "wait");
    failing.catch(() => {});
    await host.stop("s");
    await expect(failing).rejects.toThrow();
    await host.close();
    const received = await collectEvents(events);
    // Unread progress events are merged into one.
    expect(received.filter(({ kind }) => kind === "progress")).toHaveLength(1);
    expect(received.flatMap((event) => (event.kind === "ended" ? [event.how] : []))).toEqual([
      "done",
      "cancelled",
      "failed",
    ]);
  });
});

describe("closing", () => {
  test("ends runs and flushes the log before it resolves", async () => {
    const sink = memorySink();
    const activity = openActivity(sink, { flushMs: 60_000 });
    const host = await makeHost({ activity, servers: { s: inMemory(greeter()) }, policy: allow });
    await host.callTool("s", "greet");
    let isDone = false;
    const run = host.run("go", {
      model: {
        id: "slow",
        capabilities: { tools: true, images: false },
        async *stream({ signal }) {
          await new Promise((resolve) => signal?.addEventListener("abort", resolve));
          yield { type: "end", stopReason: "endTurn", model: "slow" };
        },
      },
    });
    run.result.then(() => {
      isDone = true;
    });
    await host.close();
    expect(isDone).toBe(true);
    const kinds: string[] = [];
    for await (const { kind } of openActivity(sink).query()) kinds.push(kind);
    expect(kinds).toEqual(expect.arrayContaining(["call"]));
    // The application opened this log, so the host does not close it.
    activity.record({ kind: "note" } as never);
    await activity.flush();
    expect(activity.lost).toBe(0);
    await activity.close();
  });

  test("the state of a finished run can be continued", async () => {
    const host = await makeHost({ model: createModel({ say: "ok" }) });
    const { state } = await host.run("go").result;
    const again = host.run(state, { model: createModel({ say: "again" }) });
    expect((await again.result).text).toBe("again");
  });
});
