import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { ConsoleTools } from "portolan-console";
import { openActivityFile } from "portolan-host";
import { scriptedModel } from "portolan-host/models";
import { expect, test } from "vitest";
import { makeFolder, newServer, oldServer, openConsole, refusalOf, Tab } from "./kit.ts";

test("settings are told to every tab and kept; a model that is not there is refused", async () => {
  const folder = await makeFolder();
  const running = await openConsole({ model: scriptedModel([], { id: "one" }), folder });
  const [tab, other] = [await Tab.open(running), await Tab.open(running)];
  const events = await other.events();
  await tab.do("settings.change", { theme: "dark", model: "one" });
  expect((await events.next("settings")).settings).toEqual({ theme: "dark", model: "one" });
  expect((await refusalOf(tab.do("settings.change", { model: "two" }))).error.code).toBe("not-found");
  expect((await refusalOf(tab.do("settings.change", { theme: "pink" } as never))).error.code).toBe("bad-request");
  await running.close();
  const again = await openConsole({ model: scriptedModel([], { id: "one" }), folder });
  const { settings } = await (await (await Tab.open(again)).events()).state();
  expect(settings).toEqual({ theme: "dark", model: "one" });
});

test("the key of a model that is added is in no event, no state and no file", async () => {
  const folder = await makeFolder();
  const tab = await Tab.open(await openConsole({ folder }));
  const events = await tab.events();
  const key = "sk-very-secret-key-of-the-user";
  const { id } = await tab.do("model.add", { provider: "openai", model: "gpt", key, address: "http://127.0.0.1:1/v1" });
  expect(id).toBe("openai:gpt");
  expect((await events.next("models")).models.map((model) => model.id)).toContain(id);
  await tab.do("settings.change", { model: id });
  const state = await (await tab.events()).state();
  expect(JSON.stringify([state, events.all])).not.toContain(key);
  expect(await readFile(join(folder, "console", "settings.json"), "utf8")).not.toContain(key);
  const wrong = await refusalOf(tab.do("model.add", { provider: "openai", model: "x", key, address: "file:///etc" }));
  expect(wrong.status).toBe(422);
  expect(JSON.stringify(wrong.error)).not.toContain(key);
});

test("folders are set for all, and one that is none is refused", async () => {
  const folder = await makeFolder();
  const tab = await Tab.open(await openConsole({ servers: { it: oldServer } }));
  const events = await tab.events();
  const root = { uri: pathToFileURL(folder).href, name: "mine", for: ["it"] };
  await tab.do("roots.set", { roots: [root] });
  expect((await events.next("roots")).roots).toEqual([root]);
  const refused = await refusalOf(tab.do("roots.set", { roots: [{ uri: "http://example.com" }] }));
  expect([refused.status, refused.error.code]).toEqual([422, "invalid-argument"]);
});

test("the log is read by pages, verified and exported, and a grant can be taken back", async () => {
  const folder = await makeFolder();
  const activity = await openActivityFile(join(folder, "log.jsonl"));
  const echo = { call: { name: "it__echo", input: { message: "x" } } };
  const model = scriptedModel([echo, { say: "Done." }, echo, { say: "Done again." }]);
  const tab = await Tab.open(
    await openConsole({ servers: { it: { ...oldServer, trustHints: false } }, model, activity, folder }),
  );
  const events = await tab.events();
  const { id } = await tab.do("conversation.create", {});
  await tab.do("conversation.send", { id, text: "Echo" });
  const { question } = await events.next("question");
  const { grant } = await tab.do("answer", {
    id: question.id,
    digest: question.digest,
    answer: { allow: true, for: "session" },
  });
  await events.next("conversation", ({ conversation }) => conversation.state === "idle");
  expect((await events.ever("grants", ({ grants }) => grants.length > 0)).grants[0]!.id).toBe(grant);
  const answered = await tab.do("activity", { kind: "decision" });
  expect(answered.rows.length).toBeGreaterThan(0);
  expect(answered.rows.map(({ title, how }) => [title, how])).toContainEqual(["echo", "allowed"]);
  const all = await tab.do("activity", { limit: 500 });
  expect(all.rows.map(({ seq }) => seq)).toEqual(all.rows.map(({ seq }) => seq).sort((one, other) => one - other));
  expect(all.last).toBe(all.rows.at(-1)!.seq);
  expect(all.rows.find(({ kind }) => kind === "call")).toMatchObject({ title: "echo", how: "done" });
  expect((await events.ever("activity", ({ head }) => head > 0)).head).toBeGreaterThan(0);
  const older = await tab.do("activity", { limit: 2, before: all.rows[3]!.seq });
  expect(older.rows).toEqual(all.rows.slice(1, 3));
  const newer = await tab.do("activity", { limit: 2, after: all.rows[0]!.seq });
  expect(newer.rows).toEqual(older.rows);
  expect(await tab.do("activity.verify", {})).toMatchObject({ isIntact: true });
  const { text } = await tab.do("activity.export", {});
  expect(
    text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line).kind),
  ).toContain("call");
  await tab.do("grant.revoke", { id: grant! });
  await events.ever("grants", (event) => event.grants.length === 0);
  expect((await refusalOf(tab.do("grant.revoke", { id: "none" }))).error.code).toBe("not-found");
  await tab.do("grant.restore", { id: grant! });
  expect((await events.next("grants", (event) => event.grants.length > 0)).grants[0]!.id).toBe(grant);
  expect((await refusalOf(tab.do("grant.restore", { id: grant! }))).error.code).toBe("not-found");
  const other = await tab.do("conversation.create", {});
  await tab.do("conversation.send", { id: other.id, text: "Echo again" });
  await events.next("block", ({ block }) => block.kind === "text" && block.text === "Done again.");
  // The restored grant counts: the call was made, and nobody was asked.
  const calls = await tab.do("activity", { kind: "call", limit: 500 });
  expect(calls.rows.filter(({ title, how }) => title === "echo" && how === "done")).toHaveLength(2);
  expect((await tab.do("activity", { kind: "grant" })).rows.at(-1)?.detail).toMatchObject({ grant, restored: true });
});

test("a report grows by findings, ends with its summary, and can be cancelled", async () => {
  let release = () => {};
  const tools = {
    async *examine(_host: unknown, _name: string, { signal }: { signal: AbortSignal }) {
      yield { id: "a", level: "ok" as const, what: "It starts.", why: "", next: "" };
      await new Promise<void>((resolve, reject) => {
        release = resolve;
        signal.addEventListener("abort", () => reject(signal.reason));
      });
    },
    grade: async (_host: unknown, _name: string, onFinding: (finding: never) => void) => {
      onFinding({ id: "x", level: "note", what: "A note.", why: "", next: "" } as never);
      return "All good";
    },
  };
  const tab = await Tab.open(await openConsole({ servers: { it: oldServer }, tools }));
  const events = await tab.events();
  const { id } = await tab.do("report.start", { server: "it", of: "check" });
  const { report } = await events.next("report", (event) => event.report.id === id && !event.report.isRunning);
  expect(report).toMatchObject({ of: "check", summary: "All good", findings: [{ id: "x" }] });
  const { id: doctor } = await tab.do("report.start", { server: "it", of: "doctor" });
  await events.next("report", (event) => event.report.id === doctor && event.report.findings.length === 1);
  await tab.do("report.cancel", { id: doctor });
  const { report: cancelled } = await events.next(
    "report",
    (event) => event.report.id === doctor && !event.report.isRunning,
  );
  expect(cancelled.error).toContain("cancelled");
  expect((await refusalOf(tab.do("report.cancel", { id: doctor }))).error.code).toBe("not-found");
  expect((await refusalOf(tab.do("report.start", { server: "none", of: "doctor" }))).error.code).toBe("not-found");
  release();
});

test("a sign-in shows its page and its steps; a page that is no web page is never shown", async () => {
  let address = "https://example.com/authorize";
  const tools: Pick<ConsoleTools, "signIn"> = {
    async signIn(_host, _name, watch) {
      const step = { id: 1, title: "Discovery", standard: "RFC 9728", state: "done" } as const;
      watch.step(step, async () => {
        watch.step({ ...step, state: "running" });
        watch.step({ ...step, response: "read again" });
      });
      watch.step({ id: 2, title: "Registration", standard: "RFC 7591", state: "done" });
      watch.visit(address);
    },
  };
  const tab = await Tab.open(await openConsole({ servers: { it: await newServer() }, tools }));
  const events = await tab.events();
  const { id } = await tab.do("login.begin", { server: "it" });
  const { login } = await events.next("login", (event) => event.login.id === id && event.login.state === "waiting");
  expect(login).toMatchObject({ address, steps: [{ standard: "RFC 9728", isRepeatable: true }, { id: 2 }] });
  await events.next("login", (event) => event.login.id === id && event.login.state === "done");
  // A step that changes nothing is done again after the end, too, and keeps its place.
  await tab.do("login.again", { id, step: 1 });
  const { login: again } = await events.next("login", (event) => event.login.steps[0]?.response !== undefined);
  expect(again).toMatchObject({ state: "done", steps: [{ id: 1, response: "read again" }, { id: 2 }] });
  expect((await refusalOf(tab.do("login.again", { id, step: 2 }))).error.next).toBe("Start over.");
  address = "javascript:alert(1)";
  const { id: wrong } = await tab.do("login.begin", { server: "it" });
  const { login: failed } = await events.next(
    "login",
    (event) => event.login.id === wrong && event.login.state === "failed",
  );
  expect(JSON.stringify(failed)).not.toContain("javascript:");
});

test("a failure of the command is told with its next step, and one of the console only by reference", async () => {
  const errors: unknown[] = [];
  const tools = {
    add: async () => {
      throw Object.assign(new Error("there is no such file"), { next: "portolan ls" });
    },
    signOut: () => Promise.reject("secret detail"),
  };
  const tab = await Tab.open(
    await openConsole({ tools, onError: (error) => errors.push(error), servers: { it: oldServer } }),
  );
  const refused = await refusalOf(tab.do("server.add", { name: "x", target: "x" }));
  expect(refused.error).toMatchObject({ code: "invalid", message: "there is no such file", next: "portolan ls" });
  const internal = await refusalOf(tab.do("logout", { server: "it" }));
  expect([internal.status, internal.error.code]).toEqual([500, "internal"]);
  expect(internal.error.message).not.toContain("secret detail");
  expect((errors[0] as Error).cause).toBe("secret detail");
  expect(internal.error.message).toContain(/\((.*)\)/.exec(String(errors[0]))![1]);
});

test("what the next message costs is known before it is sent, with what is attached", async () => {
  const tab = await Tab.open(await openConsole({ servers: { it: oldServer }, model: scriptedModel([]) }));
  const events = await tab.events();
  await tab.do("server.start", { server: "it" });
  await events.next("server", (event) => event.server.toolTokens > 0);
  const { id } = await tab.do("conversation.create", {});
  const plain = await tab.do("preview", { id, text: "Hello" });
  expect(plain.tools).toBeGreaterThan(100);
  await tab.do("conversation.change", { id, off: ["it.*"] });
  expect((await tab.do("preview", { id, text: "Hello" })).tools).toBeLessThan(plain.tools);
  const { resources } = await tab.do("catalog", { server: "it" });
  const { uri, name } = resources[0]!;
  await tab.do("conversation.change", { id, attached: [{ server: "it", uri, name }] });
  const { conversation } = await events.next(
    "conversation",
    (event) => event.conversation.attached[0]?.tokens !== undefined,
  );
  expect(conversation.attached[0]!.tokens).toBeGreaterThan(0);
  const { tokens } = await tab.do("resource.read", { server: "it", uri });
  expect(tokens).toBe(conversation.attached[0]!.tokens);
});
