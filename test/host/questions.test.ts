import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createServer } from "portolan/server";
import { memorySink, openActivity, openActivityFile } from "portolan-host";
import { expect, test } from "vitest";
import { z } from "zod";
import { activityEntries, allow, greeter, inMemory, makeFolder, makeHost, nextEvent, textOf } from "./kit.ts";

test("a question about a call names the call, and a page can send its digest back", async () => {
  const host = await makeHost({ servers: { g: inMemory(greeter()) }, answers: { approve: "later" } });
  const events = host.events({ kinds: ["question", "call", "answered"] });
  const calling = host.callTool("g", "greet");
  const { question } = await nextEvent(events, "question");
  const { id, digest, call } = JSON.parse(JSON.stringify(question));
  await expect(host.answer(id, true, { digest: "other" })).rejects.toMatchObject({ code: "question-changed" });
  await expect(host.answer(id, true, { digset: digest } as never)).rejects.toThrow("did you mean `digest`");
  expect(await host.answer(id, { allow: true, for: "session" }, { digest, by: "Ada" })).toEqual({
    grant: host.grants.list()[0]?.id,
  });
  expect(textOf(await calling)).toBe("hello");
  const answered = await nextEvent(events, "answered");
  expect(answered).toMatchObject({ how: "answered", by: "Ada", summary: "Allowed for this session" });
  expect(answered.grant).toBe(host.grants.list()[0]?.id);
  expect((await activityEntries(host, "decision", "call")).map((entry) => entry["id"])).toEqual([call, call]);
  expect(await activityEntries(host, "decision")).toMatchObject([{ effect: "allow", by: "user", answeredBy: "Ada" }]);
});

test.each(["2025-06-18", "2025-11-25", "2026-07-28"] as const)(
  "on %s a server's questions name the call during which they are asked",
  async (era) => {
    const asker = createServer({ name: "a", version: "1.0.0" }).tool("form", {
      async run(_, ctx) {
        const answer = await ctx.elicit("n", { message: "How many?", form: z.object({ n: z.number() }) });
        return answer.action === "accept" ? String(answer.content.n) : answer.action;
      },
    });
    const host = await makeHost({
      servers: { a: inMemory(asker, { era }) },
      policy: allow,
      answers: { elicit: "later" },
    });
    const events = host.events({ kinds: ["question", "call", "answered"] });
    const calling = host.callTool("a", "form");
    const { id } = await nextEvent(events, "call");
    const { question } = await nextEvent(events, "question");
    expect(question.call).toBe(id);
    await host.answer(question.id, { action: "accept", content: { n: 3 } });
    expect(textOf(await calling)).toBe("3");
    expect(await nextEvent(events, "answered")).toMatchObject({ how: "answered", summary: "Form sent" });
  },
);

test("a call does not reach its server if the user's answer cannot be written to the log", async () => {
  const inner = memorySink();
  let isFull = false;
  const activity = openActivity({
    isLinear: true,
    append: async (build) => {
      if (isFull) throw new Error("no space left on device");
      await inner.append(build);
    },
    read: (newestFirst) => inner.read(newestFirst),
    close: () => inner.close(),
  });
  let calls = 0;
  const counted = createServer({ name: "c", version: "1.0.0" }).tool("count", {
    run() {
      calls += 1;
      return String(calls);
    },
  });
  const host = await makeHost({
    servers: { c: inMemory(counted) },
    answers: { approve: () => ({ allow: true, for: "always" }) },
    activity,
  });
  await host.start("c");
  await activity.flush();
  isFull = true;
  await expect(host.callTool("c", "count")).rejects.toMatchObject({
    code: "store-failed",
    message: expect.stringMatching(/^The answer about c does not count, because .*: no space left on device$/),
  });
  expect(calls).toBe(0);
  // A grant is in the log before it counts.
  expect(host.grants.list()).toEqual([]);
  isFull = false;
  expect(textOf(await host.callTool("c", "count"))).toBe("1");
  expect(host.grants.list()).toHaveLength(1);
});

test("the decision is written when the server receives the call", async () => {
  const sink = memorySink();
  let seen = "";
  const reader = createServer({ name: "r", version: "1.0.0" }).tool("look", {
    run() {
      seen = sink.text;
      return "looked";
    },
  });
  const host = await makeHost({
    servers: { r: inMemory(reader) },
    answers: { approve: () => ({ allow: true, for: "always" }) },
    activity: openActivity(sink),
  });
  await host.callTool("r", "look");
  expect(seen).toContain('"kind":"grant"');
  expect(seen).toContain('"kind":"decision","server":"r","name":"look"');
});

test("a withdrawn question says so", async () => {
  const host = await makeHost({ servers: { g: inMemory(greeter()) }, answers: { approve: "later" } });
  const events = host.events({ kinds: ["question", "answered"] });
  const stop = new AbortController();
  const calling = host.callTool("g", "greet", {}, { signal: stop.signal });
  const { question } = await nextEvent(events, "question");
  stop.abort(new Error("never mind"));
  await expect(calling).rejects.toThrow("never mind");
  const answered = await nextEvent(events, "answered");
  expect(answered).toEqual({ kind: "answered", server: "g", question, how: "withdrawn" });
});

test("a host that is killed while its call runs has left the decision and the grant in its log", async () => {
  const file = join(await makeFolder(), "activity.ndjson");
  const fixture = (name: string) => join(import.meta.dirname, "fixtures", name);
  const child = spawn(process.execPath, [fixture("killed-host.mjs"), file, fixture("killer-server.mjs")]);
  const [, signal] = await once(child, "close");
  expect(signal).toBe("SIGKILL");
  const log = await openActivityFile(file);
  const entries: object[] = [];
  for await (const entry of log.query({ kinds: ["decision", "grant"] })) entries.push(entry);
  expect(entries).toMatchObject([
    { kind: "grant", server: "killer", name: "kill", allow: true },
    { kind: "decision", server: "killer", name: "kill", effect: "allow", by: "user" },
  ]);
  expect(await log.verify()).toMatchObject({ ok: true });
  await log.close();
});
