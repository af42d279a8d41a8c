import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeFolder, newServer, oldServer, openConsole, refusalOf, Tab } from "./kit.ts";

test("a recording is made, opened without its server, compared, mocked and removed", async () => {
  const running = await openConsole({ servers: { it: oldServer, other: await newServer() } });
  const tab = await Tab.open(running);
  const events = await tab.events();
  const call = async (server: string, args: object) => {
    const { id } = await tab.do("call", { server, tool: "echo", argumentsText: JSON.stringify(args) });
    return (await events.next("call", (event) => event.call.id === id && event.call.end !== undefined)).call;
  };
  await call("it", { message: "before" });
  await call("other", { message: "x" });
  const { id } = await tab.do("recording.start", { server: "it" });
  await call("it", { message: "needle" });
  const secret = "sk-ant-api03-verysecretverysecretverysecret-1234567890";
  await call("it", { message: secret });
  await tab.do("recording.stop", { id });
  const { recording } = await events.next("recording", (event) => !event.recording.isRunning);
  expect(recording).toMatchObject({ id, server: "it", isRedacted: true, revision: "2024-11-05" });
  const exported = await tab.do("recording.export", { id });
  expect(exported.text).toContain("needle");
  expect(exported.text).not.toContain(secret);
  await tab.do("server.stop", { server: "it" });
  const { connection } = await tab.do("recording.open", { id });
  await events.ever("connection", (event) => event.connection.id === connection && event.connection.state === "closed");
  const { rows } = await tab.do("messages", { connection, filter: { text: "needle" } });
  expect(rows.map(({ kind }) => kind)).toEqual(["request", "response"]);
  const none = await tab.do("compare", { before: { recording: id }, after: { server: "it" } });
  expect(none.differences).toEqual([]);
  const { server } = await tab.do("recording.mock", { id });
  expect(server).toBe("it-recorded");
  const mocked = await call(server, { message: "needle" });
  expect(mocked.end?.result?.result.content).toEqual([{ type: "text", text: "needle" }]);
  const { id: imported } = await tab.do("recording.import", { name: exported.name, text: exported.text });
  await events.ever("recording", (event) => event.recording.id === imported);
  const wrong = await refusalOf(tab.do("recording.import", { name: "x", text: "hello" }));
  expect([wrong.status, wrong.error.code]).toEqual([422, "invalid"]);
  await tab.do("recording.remove", { id });
  expect((await refusalOf(tab.do("recording.open", { id }))).error.code).toBe("not-found");
  expect((await refusalOf(tab.do("recording.export", { id: "../settings" }))).error.code).toBe("not-found");
});

test("two servers that have not started are started and compared member by member; one without lists is refused", async () => {
  const gone = { command: "/nowhere/at/all" };
  const running = await openConsole({ servers: { it: oldServer, other: await newServer(), gone } });
  const tab = await Tab.open(running);
  const { differences } = await tab.do("compare", { before: { server: "it" }, after: { server: "other" } });
  const add = differences.find(({ name }) => name === "add")!;
  expect(add.how).toBe("changed");
  expect(add.lines.map(({ path }) => path)).toContain("title");
  const refused = await refusalOf(tab.do("compare", { before: { server: "it" }, after: { server: "gone" } }));
  expect(refused.error).toMatchObject({ code: "busy", next: "Start it, then compare again." });
  expect(refused.error.message).toMatch(/^gone is not running: .*\/nowhere\/at\/all/);
});

test("a call is saved in the file of the project, run and judged", async () => {
  const folder = await makeFolder();
  const running = await openConsole({ servers: { it: await newServer() }, folder });
  const tab = await Tab.open(running);
  const saved = { name: "adds", server: "it", tool: "add", argumentsText: '{"a":1,"b":2}' };
  const expect3 = [{ path: "structuredContent.sum", is: 3 }];
  await tab.do("saved.put", { call: { ...saved, expect: expect3 } });
  const again = await refusalOf(tab.do("saved.put", { call: { ...saved, expect: [] } }));
  expect(again.error.paths?.[0]?.path).toBe("call.name");
  const { calls, file } = await tab.do("saved.list", {});
  expect(calls).toEqual([{ ...saved, expect: expect3 }]);
  expect(JSON.parse(await readFile(file, "utf8"))).toMatchObject({ calls: [{ name: "adds" }] });
  const { verdicts } = await tab.do("saved.run", { names: ["adds"] });
  expect(verdicts).toMatchObject([{ name: "adds", isPassed: true, problems: [] }]);
  const wrong = [{ path: "structuredContent.sum", is: 4 }];
  await tab.do("saved.put", { call: { ...saved, expect: wrong }, replaces: "adds" });
  const failed = await tab.do("saved.run", { names: ["adds"] });
  expect(failed.verdicts[0]).toMatchObject({ isPassed: false });
  await tab.do("saved.remove", { name: "adds" });
  expect((await tab.do("saved.list", {})).calls).toEqual([]);
});

test("many saved calls at once ask before they act, because the file may come from others", async () => {
  const folder = await makeFolder();
  await mkdir(join(folder, ".portolan"));
  const call = { name: "acts", server: "it", tool: "echo", argumentsText: '{"message":"x"}', expect: [] };
  await writeFile(join(folder, ".portolan", "calls.json"), JSON.stringify({ version: 1, calls: [call] }));
  const running = await openConsole({ servers: { it: oldServer }, folder });
  const tab = await Tab.open(running);
  const events = await tab.events();
  const run = tab.do("saved.run", {});
  const { question } = await events.next("question");
  expect(question).toMatchObject({ kind: "approve", server: "it" });
  await tab.do("answer", { id: question.id, digest: question.digest, answer: { allow: false } });
  expect((await run).verdicts).toMatchObject([{ name: "acts", isPassed: false }]);
});
