import { once } from "node:events";
import { rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { serveHttp } from "portolan/server/http";
import { expect, onTestFinished, test } from "vitest";
import { makeHome } from "./kit.ts";
import { broken, errorOf, fileOf, notes, put, runPortolan, showOf, startPortolan } from "./manage-kit.ts";
import { openTerminal } from "./pseudo-terminal.ts";

const node = process.execPath;
const changing = fileOf("test/cli/fixtures/changing.mjs");
const kindsIn = (lines: readonly string[]) => lines.map((line) => JSON.parse(line).kind);

test("shows events of a stateful server until Ctrl-C", async () => {
  const cwd = await makeHome();
  const running = startPortolan(["watch", "day:///today", "--level", "debug", "--", node, broken, "telling"], { cwd });
  await running.until(/"state":"ready"/);
  const [, pid] = /pid (\d+)/.exec(await running.until(/"line":"pid/)) ?? [];
  process.kill(Number(pid), "SIGUSR2");
  await running.until(/"changed":"tools"/);
  const told = (kind: string) => running.lines.map((line) => JSON.parse(line)).find((event) => event.kind === kind);
  expect(told("log")).toMatchObject({ level: "warning", logger: "sky", data: "rain \u001b[31mahead" });
  expect(told("resource")).toMatchObject({ uri: "day:///today" });
  running.child.kill("SIGINT");
  expect(await running.ended).toBe(0);
  expect(running.said).toEqual([]);
  expect(() => process.kill(Number(pid), 0)).toThrow();
});

test("shows changes by others at a stateless server over HTTP", async () => {
  const cwd = await makeHome();
  const { default: served } = await import(notes);
  const serving = serveHttp(served);
  const site = createServer((request, response) => serving.node(request, response)).listen(0, "127.0.0.1");
  await once(site, "listening");
  onTestFinished(async () => {
    await serving.close(0);
    site.closeAllConnections();
    site.close();
  });
  const url = `http://127.0.0.1:${(site.address() as AddressInfo).port}/mcp`;
  const running = startPortolan(["watch", url, "notes:///all"], { cwd });
  await running.until(/"state":"ready"/);
  // The start of the subscription is not visible, so changes are repeated until one is reported.
  for (let tries = 0; tries < 20 && !kindsIn(running.lines).includes("resource"); tries += 1) {
    await showOf(["call", url, "add_note", `title=n${tries}`, "text=t"], { cwd });
  }
  await running.until(/"uri":"notes:\/\/\/all/);
  await running.until(/"changed":"resources"/);
  running.child.kill("SIGINT");
  expect(await running.ended).toBe(0);
});

test("reports a killed server, and --limit ends watch", async () => {
  const cwd = await makeHome();
  const running = startPortolan(["watch", "--limit", "5", "--", node, broken, "telling"], { cwd });
  const [, pid] = /pid (\d+)/.exec(await running.until(/"line":"pid/)) ?? [];
  await running.until(/"state":"ready"/);
  process.kill(Number(pid), "SIGKILL");
  await running.until(/"state":"down".*SIGKILL/);
  expect(await running.ended).toBe(0);
  expect(running.lines).toHaveLength(5);
});

test("shows changed features and resources, also after a restart", async () => {
  const cwd = await makeHome();
  const file = put(cwd, "tools.json", [{ name: "one", description: "First", inputSchema: { type: "object" } }]);
  const terminal = openTerminal(["watch", "day:///today", "--", node, changing, file], { cwd, columns: 300 });
  const [, pid] = /pid (\d+)/.exec(await terminal.see(/ready/)) ?? [];
  put(cwd, "tools.json", [{ name: "two", inputSchema: { type: "object" } }]);
  process.kill(Number(pid), "SIGUSR2");
  await terminal.see(/changed +tools: - tool one; \+ tool two/);
  await terminal.see(/changed +day:\/\/\/today/);
  await terminal.see(/info +half of it is done/);
  terminal.mark();
  process.kill(Number(pid), "SIGKILL");
  const [, next] =
    /stderr +pid (\d+)[\s\S]*ready/.exec(await terminal.see(/down +.*SIGKILL[\s\S]*stderr +pid \d+[\s\S]*ready/)) ?? [];
  // The start of the new subscription is not visible.
  for (let tries = 0; tries < 50 && !/changed +day/.test(terminal.screen().split("SIGKILL")[1] ?? ""); tries += 1) {
    process.kill(Number(next), "SIGUSR2");
    await terminal.see(/done/);
  }
  await terminal.see(/changed +day:\/\/\/today/);
  terminal.type("\u0003");
  expect(await terminal.exited).toBe(0);
  expect(terminal.screen()).not.toContain("RAW");
  expect(terminal.broken()).toEqual([]);
});

test("fails with the reason if the server cannot be restarted", async () => {
  const cwd = await makeHome();
  const file = put(cwd, "tools.json", []);
  const running = startPortolan(["watch", "--", node, changing, file], { cwd });
  const [, pid] = /pid (\d+)/.exec(await running.until(/"line":"pid/)) ?? [];
  await running.until(/"state":"ready"/);
  rmSync(file);
  process.kill(Number(pid), "SIGKILL");
  expect(await running.ended).toBe(4);
  expect(kindsIn(running.lines).filter((kind) => kind === "server").length).toBeGreaterThan(3);
  expect(JSON.parse(running.said.at(-1) ?? "").error).toMatchObject({
    kind: "unreachable",
    message: expect.stringContaining("exited with code 1"),
    next: "portolan doctor changing",
  });
});

test("ends when its reader leaves", async () => {
  const running = startPortolan(["watch", "--", node, broken, "telling"], { cwd: await makeHome() });
  const [, pid] = /pid (\d+)/.exec(await running.until(/"line":"pid/)) ?? [];
  await running.until(/"state":"ready"/);
  running.child.stdout.destroy();
  process.kill(Number(pid), "SIGUSR2");
  expect(await running.ended).toBe(0);
});

test.each([
  [["watch", "--level", "loud", "--", node], "expected one of debug"],
  [["watch", "--limit", "-1", "--", node], "whole number"],
  [["watch"], "no server given"],
])("refuses %j", async (args, message) => {
  const ran = await runPortolan(args, { cwd: await makeHome() });
  expect([ran.code, errorOf(ran).message]).toEqual([2, expect.stringContaining(message)]);
});
