import { createServer } from "portolan/server";
import { memorySink, openActivity } from "portolan-host";
import { expect, test } from "vitest";
import { z } from "zod";
import { activityEntries, allow, createModel, greeter, inMemory, makeHost, nextEvent, textOf } from "./kit.ts";

/** A server whose tool `wait` ends only when its call is cancelled; `begun` and `stopped` tell of it. */
function createSlow() {
  const steps = { begun: () => {}, stopped: () => {} };
  const begun = new Promise<void>((resolve) => {
    steps.begun = resolve;
  });
  const stopped = new Promise<void>((resolve) => {
    steps.stopped = resolve;
  });
  const server = greeter()
    .tool("wait", {
      run(_, { signal }) {
        signal.addEventListener("abort", () => steps.stopped());
        steps.begun();
        return new Promise(() => {});
      },
    })
    .tool("form", {
      async run(_, ctx) {
        const { action } = await ctx.elicit("n", { message: "How many?", form: z.object({ n: z.number() }) });
        return action;
      },
    });
  return { server, begun, stopped };
}

test("a call that runs is listed with its arguments until it ends", async () => {
  const { server, begun } = createSlow();
  const host = await makeHost({ servers: { s: inMemory(server) }, policy: allow });
  const events = host.events({ kinds: ["call", "ended"] });
  const calling = host.callTool("s", "wait", { a: 1 }, { callId: "t1" });
  await begun;
  const [running] = host.calls;
  const facts = { server: "s", what: "tool", name: "wait", by: "model", callId: "t1" };
  expect(running).toMatchObject({ ...facts, args: { a: 1 }, argumentsText: '{"a":1}' });
  expect(Date.now() - (running?.startedAt ?? 0)).toBeLessThan(60_000);
  expect(await nextEvent(events, "call")).toEqual({ kind: "call", ...running });
  expect(host.cancel(running?.id ?? "")).toBe(true);
  await expect(calling).rejects.toThrow("cancelled by the user");
  expect(host.calls).toEqual([]);
  expect(await nextEvent(events, "ended")).toMatchObject({ ...facts, id: running?.id, how: "cancelled" });
});

test.each(["2025-11-25", "2026-07-28"] as const)(
  "on %s a cancelled call ends at once, its server is told, and others go on",
  async (era) => {
    const { server, begun, stopped } = createSlow();
    const host = await makeHost({ servers: { s: inMemory(server, { era }) }, policy: allow });
    const events = host.events({ kinds: ["ended"] });
    const calling = host.callTool("s", "wait");
    await begun;
    const other = host.callTool("s", "greet");
    const id = host.calls.find(({ name }) => name === "wait")?.id ?? "";
    expect(host.cancel("another")).toBe(false);
    expect(host.cancel(id, "too slow")).toBe(true);
    const failure = { code: "cancelled", name: "AbortError", requestMayHaveRun: true };
    await expect(calling).rejects.toMatchObject(failure);
    await expect(calling).rejects.toThrow(
      "The call was cancelled by the user: too slow. It was sent before, so it may",
    );
    await stopped;
    expect(textOf(await other)).toBe("hello");
    expect(host.cancel(id)).toBe(false);
    const { how, error } = await nextEvent(events, "ended", (event) => event.id === id);
    expect([how, error]).toEqual(["cancelled", expect.stringContaining("too slow")]);
    expect(await activityEntries(host, "call")).toContainEqual(expect.objectContaining({ id, how: "cancelled" }));
  },
);

test.each(["2025-11-25", "2026-07-28"] as const)(
  "on %s a call that is cancelled while its server asks withdraws the question",
  async (era) => {
    const { server } = createSlow();
    const host = await makeHost({
      servers: { s: inMemory(server, { era }) },
      policy: allow,
      answers: { elicit: "later" },
    });
    const events = host.events({ kinds: ["question", "answered"] });
    const calling = host.callTool("s", "form");
    const { question } = await nextEvent(events, "question");
    expect(host.cancel(question.call ?? "")).toBe(true);
    await expect(calling).rejects.toThrow("cancelled by the user");
    expect(await nextEvent(events, "answered")).toMatchObject({ question: { id: question.id }, how: "withdrawn" });
    expect(host.questions).toEqual([]);
    expect(host.calls).toEqual([]);
  },
);

test("a call that waits for consent is listed, and cancelling it withdraws the question", async () => {
  const host = await makeHost({ servers: { g: inMemory(greeter()) }, answers: { approve: "later" } });
  const events = host.events({ kinds: ["call", "question", "answered", "ended"] });
  const calling = host.callTool("g", "greet");
  const { id } = await nextEvent(events, "call");
  const { question } = await nextEvent(events, "question");
  expect(question.call).toBe(id);
  expect(host.calls.map((call) => call.id)).toEqual([id]);
  expect(host.cancel(id)).toBe(true);
  await expect(calling).rejects.toMatchObject({ code: "cancelled", requestMayHaveRun: false });
  expect(await nextEvent(events, "answered")).toMatchObject({ how: "withdrawn" });
  expect(await nextEvent(events, "ended")).toMatchObject({ id, how: "cancelled", ms: 0 });
  expect(host.calls).toEqual([]);
});

test("a call that is cancelled between the answer and the call is not sent", async () => {
  const inner = memorySink();
  let pass = () => {};
  const isFree = new Promise<void>((resolve) => {
    pass = resolve;
  });
  let isHeld = false;
  const activity = openActivity({
    isLinear: true,
    async append(build) {
      if (isHeld) await isFree;
      await inner.append(build);
    },
    read: (newestFirst) => inner.read(newestFirst),
    close: () => inner.close(),
  });
  let calls = 0;
  const counted = createServer({ name: "c", version: "1.0.0" }).tool("count", {
    run() {
      calls += 1;
      return "counted";
    },
  });
  const host = await makeHost({ servers: { c: inMemory(counted) }, answers: { approve: "later" }, activity });
  const events = host.events({ kinds: ["question", "answered"] });
  const calling = host.callTool("c", "count");
  const { question } = await nextEvent(events, "question");
  await activity.flush();
  isHeld = true;
  const answering = host.answer(question.id, true);
  // The answer is being written.
  expect(host.questions).toEqual([question]);
  await Promise.resolve();
  await new Promise<void>((resolve) => setImmediate(resolve));
  expect(host.questions).toEqual([]);
  expect(host.cancel(question.call ?? "")).toBe(true);
  await expect(calling).rejects.toThrow("cancelled by the user");
  pass();
  await answering;
  expect(await nextEvent(events, "answered")).toMatchObject({ how: "answered", summary: "Allowed once" });
  expect(calls).toBe(0);
});

test("a call that waits for the start of its server can be cancelled, and the start goes on", async () => {
  let open = () => {};
  const isOpen = new Promise<void>((resolve) => {
    open = resolve;
  });
  const target = inMemory(greeter());
  const slow = {
    async open() {
      await isOpen;
      return target.open();
    },
  };
  const host = await makeHost({ servers: { s: slow }, policy: allow });
  const calling = host.callTool("s", "greet");
  await expect.poll(() => host.calls.length).toBe(1);
  expect(host.cancel(host.calls[0]?.id ?? "")).toBe(true);
  await expect(calling).rejects.toMatchObject({ code: "cancelled", requestMayHaveRun: false });
  open();
  expect(textOf(await host.callTool("s", "greet"))).toBe("hello");
});

test("a refused call ends as refused, with the reason, and so do calls of unknown tools and absent servers", async () => {
  const host = await makeHost({
    servers: { g: inMemory(greeter()), down: { command: "/nowhere/at/all" } },
    policy: [{ match: "g.greet", args: { x: { equals: 1 } }, then: "deny", reason: "not today" }],
    answers: { approve: () => ({ allow: false, reason: "no" }) },
  });
  const events = host.events({ kinds: ["call", "ended"] });
  const ended = async (calling: Promise<unknown>) => {
    await calling.catch(() => {});
    const call = await nextEvent(events, "call");
    const { id, how, error } = await nextEvent(events, "ended");
    expect(id).toBe(call.id);
    return [how, error];
  };
  expect(await ended(host.callTool("g", "greet"))).toEqual(["refused", "g.greet was not approved by the user: no"]);
  expect(await ended(host.callTool("g", "greet", { x: 1 }))).toEqual(["refused", "g.greet is not allowed: not today"]);
  expect(await ended(host.callTool("g", "unknown"))).toEqual(["failed", expect.stringContaining("has no tool")]);
  expect(await ended(host.callTool("down", "x"))).toEqual(["failed", expect.stringContaining("could not be started")]);
  expect(await ended(host.readResource("g", "x:y"))).toEqual(["refused", expect.stringContaining("not approved")]);
  expect(host.calls).toEqual([]);
});

test("the model hears that the user cancelled its call, and the run goes on", async () => {
  const { server, begun } = createSlow();
  const model = createModel({ call: [["s__wait", {}]] }, { say: "Then not." });
  const host = await makeHost({ servers: { s: inMemory(server) }, policy: allow, model });
  const run = host.run("Wait");
  await begun;
  const [call] = host.calls;
  expect(call).toMatchObject({ run: run.id, callId: "t1.0", by: "model" });
  host.cancel(call?.id ?? "", "it takes too long");
  const done = await run.result;
  expect([done.reason, done.text]).toEqual(["done", "Then not."]);
  expect(JSON.stringify(model.asked[1]?.messages)).toContain("cancelled by the user: it takes too long");
});

test("a background task is cancelled with its call", async () => {
  const { server, begun, stopped } = createSlow();
  const host = await makeHost({ servers: { s: inMemory(server) }, policy: allow, tasks: true });
  const calling = host.callTool("s", "wait");
  await begun;
  expect(host.cancel(host.calls[0]?.id ?? "")).toBe(true);
  await expect(calling).rejects.toThrow("cancelled by the user");
  await stopped;
  expect(host.calls).toEqual([]);
});
