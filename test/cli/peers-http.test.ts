import { mkdtempSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ListeningServer } from "../interop/client/start-server.ts";
import { makeHome } from "./kit.ts";
import { put, showOf, startPortolan } from "./manage-kit.ts";
import {
  expectAlive,
  expectAsking,
  expectWhole,
  failureOf,
  openPortolan,
  startEverything,
  startFixture,
} from "./peers-kit.ts";

const cwd = makeHome();
const stateful = { version: "2025-11-25", era: "stateful" };
const stateless = { version: "2026-07-28", era: "stateless" };
const spoken = [
  ["fastmcp", stateful],
  ["sdk-v1", stateful],
  ["sdk-v1-sse", stateful],
  ["sdk-v2", stateless],
  ["sdk-v2-sessions", stateful],
] as const;
const servers: ListeningServer[] = [];

beforeAll(async () => {
  servers.push(
    ...(await Promise.all([
      startFixture("sdk-v1", "events"),
      startFixture("sdk-v1", "http-sse"),
      startFixture("sdk-v2", "auto"),
      startFixture("sdk-v2", "sessions"),
      startFixture("fastmcp", "events"),
      startEverything("sse"),
      startEverything("streamableHttp"),
    ])),
  );
  const [v1, v1Sse, v2, v2Sessions, fastmcp, sse, everything] = servers.map(({ url }) => url);
  put(cwd, ".mcp.json", {
    mcpServers: {
      "sdk-v1": { type: "http", url: v1, headers: { "X-Team": "maps" } },
      "sdk-v1-sse": { type: "sse", url: v1Sse },
    },
  });
  // No entry names the protocol: it is detected.
  put(
    cwd,
    ".vscode/mcp.json",
    `{ "servers": { "sdk-v2": { "url": "${v2}" }, /* slow */ "sse": { "url": "${sse}" } } }`,
  );
  put(cwd, ".codex/config.toml", `[mcp_servers.sdk-v2-sessions]\nurl = "${v2Sessions}"\ntool_timeout_sec = 30\n`);
  put(cwd, ".gemini/settings.json", { theme: "dark", mcpServers: { fastmcp: { httpUrl: fastmcp } } });
  put(cwd, ".codeium/windsurf/mcp_config.json", { mcpServers: { everything: { serverUrl: everything } } });
  for (const name of [...spoken.map(([name]) => name), "sse", "everything"]) {
    await showOf(["trust", name, "--yes"], { cwd });
  }
}, 60_000);
afterAll(() => Promise.all(servers.map((server) => server.stop())));

test("connects to all of them, each in its own protocol", async () => {
  const shown = await showOf<{ servers: { name: string; state: string }[] }>([], { cwd });
  expect(shown.servers.map(({ name, state }) => [name, state]).sort()).toEqual(
    [...spoken.map(([name]) => name), "sse", "everything"].map((name) => [name, "ready"]).sort(),
  );
});

const [fastmcp, ...others] = spoken;

test.each(others)("uses %s and reports its failures", async (name, speaks) => {
  await expectWhole(cwd, name, speaks);
});

// Its handshake takes a second; the rest is tested over stdio.
test("uses the basics of fastmcp", () => expectAlive(cwd, ...fastmcp));

test.each(others)("answers questions of %s at the terminal", async (name) => {
  // SDK v1 logs over a stream that may not be open at the first call.
  await expectAsking(cwd, name, name !== "sdk-v1");
});

test("suggests a next step after a timeout and for an unreachable server", async () => {
  expect(await failureOf(cwd, ["call", "sdk-v1.hold", "--timeout", "0.5"])).toEqual({
    code: 7,
    message: "sdk-v1.hold: no answer and no progress for 0.5 s",
    next: "portolan call --timeout 1 sdk-v1.hold",
  });
  const home = makeHome();
  put(home, ".mcp.json", { mcpServers: { gone: { type: "http", url: "http://127.0.0.1:9/mcp" } } });
  await showOf(["trust", "gone", "--yes"], { cwd: home });
  const gone = { code: 4, message: expect.stringContaining("ECONNREFUSED"), next: "portolan doctor gone" };
  expect(await failureOf(home, ["call", "gone.echo", "text=hi"])).toEqual(gone);
});

test.each([
  ["sdk-v2", "counter://ticks"],
  ["fastmcp", "counter://ticks"],
])("watches changes by others at %s", async (name, uri) => {
  const running = startPortolan(["watch", name, uri], { cwd });
  await running.until(/"state":"ready"/);
  // The start of the subscription is not visible, so changes are repeated until one is reported.
  const isHeard = () => running.lines.some((line) => line.includes(`"uri":"${uri}"`));
  for (let tries = 0; tries < 20 && !isHeard(); tries += 1) await showOf(["call", `${name}.tick`], { cwd });
  await running.until(/"kind":"resource"/);
  await showOf(["call", `${name}.grow`], { cwd });
  await running.until(/"changed":"tools"/);
  running.child.kill("SIGINT");
  expect(await running.ended).toBe(0);
  expect(await showOf(["call", `${name}.grown`], { cwd })).toMatchObject({ content: [{ text: "I am new" }] });
});

describe.each(["everything", "sse"])("the official server with one of everything: %s", (name) => {
  test("its tools, files and images", async () => {
    const folder = mkdtempSync(join(cwd, "saved-"));
    const image = await showOf<{ saved: string[] }>(["call", `${name}.get-tiny-image`, "--save", folder], { cwd });
    expect(
      readFileSync(image.saved[0] ?? "")
        .subarray(1, 4)
        .toString(),
    ).toBe("PNG");
    const again = await showOf<{ saved: string[] }>(["call", `${name}.get-tiny-image`, "--save", folder], { cwd });
    expect(again.saved).toEqual([join(folder, "2.png")]);
    const blob = await showOf<{ saved: string[] }>(
      ["read", name, "demo://resource/dynamic/blob/4", "--save", join(folder, "blob")],
      { cwd },
    );
    expect(readFileSync(blob.saved[0] ?? "", "utf8")).toContain("Resource 4");
    const weather = await showOf(["call", `${name}.get-structured-content`, "location=Chicago"], { cwd });
    expect(weather).toMatchObject({ structuredContent: { temperature: 36 } });
    expect(await failureOf(cwd, ["call", `${name}.get-structured-content`, "location=Rome"])).toMatchObject({
      code: 2,
      message: 'location: expected one of New York, Chicago, Los Angeles, got "Rome"',
    });
    expect(await failureOf(cwd, ["read", name, "demo://resource/nowhere"])).toEqual({
      code: 2,
      message: expect.stringContaining("demo://resource/nowhere not found"),
      next: `portolan ls ${name}`,
    });
    const known = ["complete", name, "completable-prompt", "name", "", "department=Sales"];
    expect(await showOf(known, { cwd })).toMatchObject({ values: ["David", "Eve", "Frank"] });
  });

  test("its questions, on a terminal", async () => {
    const shown = openPortolan(["call", `${name}.get-tiny-image`], cwd);
    await shown.see(/\[image image\/png, 3\.9 KB; save it with --save <folder>\]/);
    const listed = openPortolan(["ls", name], cwd);
    expect(await listed.exited).toBe(0);
    expect(listed.screen()).toContain("trigger-sampling-request(prompt: string, maxTokens?: number)");

    const sampling = openPortolan(["call", `${name}.trigger-sampling-request`, "prompt=a story"], cwd);
    await sampling.answer(/a story[\s\S]*N never/, "y\r");
    await sampling.answer("n withhold it", "y\r");
    await sampling.see("LLM sampling result");
    expect(await sampling.exited).toBe(0);

    const form = openPortolan(["call", `${name}.trigger-elicitation-request`], cwd);
    await form.answer(/name[\s\S]*>$/, "\u0004");
    await form.see("declined");
    expect(await form.exited).toBe(0);

    const page = openPortolan(["call", `${name}.trigger-url-elicitation`, "url=https://example.com/consent"], cwd);
    await page.answer(/https:\/\/example\.com\/consent[\s\S]*n no/, "n\r");
    await page.see(/declined/i);
    expect(await page.exited).toBe(0);

    const slow = ["call", `${name}.trigger-long-running-operation`, "duration=1", "steps=4"];
    const long = openPortolan(slow, cwd);
    await long.see(/\[#{5,15} +\] (25|50|75) %/);
    await long.see("Long running operation completed");
    expect(long.screen()).not.toContain("%");
  });
});
