import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeHome, portolan, runPortolan } from "./kit.ts";
import { makeProject, startPortolan, until, weather } from "./make-kit.ts";

/** Returns the screen of a command in a terminal of this size. */
function onTerminal(args: string, cwd: string, { columns = 100, lang = "C.UTF-8" } = {}) {
  const command = `stty rows 40 cols ${columns}; exec '${process.execPath}' '${portolan}' ${args}`;
  const { stdout, status } = spawnSync("script", ["-qfec", command, "/dev/null"], {
    cwd,
    encoding: "utf8",
    env: { PATH: process.env["PATH"], HOME: cwd, PORTOLAN_HOME: join(cwd, ".portolan"), LANG: lang, NO_COLOR: "1" },
  });
  // A slow start shows a spinner, which is erased before anything else is written.
  const lines = stdout.split("\r\n").map((line) => line.split("\u001b[K").at(-1) ?? "");
  return { lines: lines.filter(Boolean), status };
}

test("replay shows each message on a line that fits the terminal", async () => {
  const folder = makeProject(weather);
  await runPortolan(["call", "./server.ts", "forecast", "city=Oslo", "--record", "w.jsonl"], { cwd: folder });
  const wide = onTerminal("replay w.jsonl", folder);
  expect(wide.lines[0]).toMatch(/^server {2}\d{4}-.* portolan \d/);
  expect(wide.lines).toContainEqual(expect.stringMatching(/^ +\d+\.\d{3} s > tools\/call #\d+ \{"name":"forecast"/));
  const narrow = onTerminal("replay w.jsonl", folder, { columns: 40, lang: "C" });
  expect(narrow.lines.length).toBe(wide.lines.length);
  for (const line of narrow.lines.slice(1)) expect(line.length).toBeLessThanOrEqual(40);
  expect(narrow.lines.join("")).toMatch(/^\p{ASCII}*$/u);
});

test("shows both sides of differences, and a summary if there are none", async () => {
  const folder = makeProject(weather);
  await runPortolan(["call", "./server.ts", "forecast", "city=Oslo", "--record", "w.jsonl"], { cwd: folder });
  const same = onTerminal("replay w.jsonl --check ./server.ts", folder);
  expect(same).toMatchObject({
    status: 0,
    lines: [expect.stringMatching(/^✓ \d+ answers match the recording$/)],
  });
  const other = makeProject({ ...weather, "highs.ts": "export const highs: Record<string, number[]> = {};\n" });
  const changed = onTerminal(`replay ${join(folder, "w.jsonl")} --check ./server.ts`, other);
  expect(changed.status).toBe(8);
  expect(changed.lines.slice(0, 3)).toEqual([
    "tools/call forecast result.content[0].text",
    '  - "[4,6,5]"',
    '  + "[]"',
  ]);
});

test("new lists its files and the next steps", () => {
  const { lines } = onTerminal("new weather --js", makeHome(), { lang: "C" });
  expect(lines[0]).toBe("+ weather: a server with a tool");
  expect(lines).toEqual(expect.arrayContaining(["  server.test.js", "-> cd weather", "-> npm run dev"]));
});

test("a long replay ends silently when its reader leaves", async () => {
  const folder = makeProject();
  const header = JSON.stringify({ recording: 1, by: "x", server: "x", startedAt: "", redacted: true });
  const line = `{"at":1,"from":"client","message":{"jsonrpc":"2.0","method":"${"x".repeat(200)}"}}\n`;
  const { writeFileSync } = await import("node:fs");
  writeFileSync(join(folder, "long.jsonl"), `${header}\n${line.repeat(5_000)}`);
  const { stdout, stderr } = spawnSync(
    "bash",
    ["-c", `'${process.execPath}' '${portolan}' replay long.jsonl | head -c 20`],
    {
      cwd: folder,
      encoding: "utf8",
    },
  );
  expect({ stdout, stderr }).toEqual({ stdout: expect.stringMatching(/^.{20}$/), stderr: "" });
});

test("Ctrl-C ends a recorder and its server, and keeps the recording", async () => {
  const folder = makeProject(weather);
  const running = startPortolan(["record", "--out", "cut.jsonl", "server.ts"], folder);
  running.child.stdin!.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
  await until(() => running.output().includes('"id":1'));
  await running.end("SIGINT");
  const recorded = readFileSync(join(folder, "cut.jsonl"), "utf8");
  expect(recorded).toContain('"method":"ping"');
  expect(recorded).toContain('"from":"server"');
});

test("SIGTERM ends serve and its server", async () => {
  const folder = makeProject({
    "server.mjs": `import { createServer } from "portolan/server";
import { writeFileSync } from "node:fs";
writeFileSync("pid", String(process.pid));
export default createServer({ name: "x", version: "1" }).tool("a", { run: () => "" });
`,
  });
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    const running = startPortolan(["serve", "server.mjs", "--http", "0"], folder);
    await running.event("ready");
    const pid = Number(readFileSync(join(folder, "pid"), "utf8"));
    expect(existsSync(`/proc/${pid}`)).toBe(true);
    expect(await running.end(signal)).toBe(0);
    await until(() => !existsSync(`/proc/${pid}`));
  }
});

test("serve prints its address on a terminal", async () => {
  const folder = makeProject(weather);
  const command = `exec '${process.execPath}' '${portolan}' serve server.ts --http 0`;
  const child = spawn("script", ["-qfec", command, "/dev/null"], {
    cwd: folder,
    env: { PATH: process.env["PATH"], HOME: folder, LANG: "C.UTF-8", NO_COLOR: "1" },
  });
  let shown = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    shown += text;
  });
  await until(() => shown.includes("press Ctrl-C to stop"));
  expect(shown).toMatch(
    /weather \(2026-07-28\) is served to clients of every revision\r\n {2}http {3}http:\/\/127\.0\.0\.1:\d+\/mcp/,
  );
  child.stdin.write("\u0003");
  expect(await new Promise((resolve) => child.on("close", resolve))).toBe(0);
});
