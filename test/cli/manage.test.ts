// biome-ignore-all lint/suspicious/noTemplateCurlyInString: this is how files write variables
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ActivityEntry, Grant } from "portolan-host";
import { describe, expect, test } from "vitest";
import { makeHome } from "./kit.ts";
import { broken, errorOf, notes, put, runPortolan, showOf, startPortolan, stateOf } from "./manage-kit.ts";
import { openTerminal } from "./pseudo-terminal.ts";

const node = process.execPath;
const project = (servers: object) => ({ mcpServers: servers });
const readJson = (file: string) => JSON.parse(readFileSync(file, "utf8"));

describe("add", () => {
  test("writes a command to the project file, ready to use", async () => {
    const cwd = await makeHome();
    const shown = await showOf(["add", "notes", "--env", "A=1", "--env", "B=two=2", "--", node, notes], { cwd });
    expect(shown).toEqual({
      name: "notes",
      file: join(cwd, ".mcp.json"),
      written: { command: node, args: [notes], env: ["A", "B"] },
      isTrusted: true,
      isUsed: true,
      next: "portolan ls notes",
    });
    const written = readJson(join(cwd, ".mcp.json")).mcpServers.notes;
    expect(written).toMatchObject({ command: node, args: [notes], env: { A: "1", B: "two=2" } });
    expect(await showOf(["ls", "notes"], { cwd })).toMatchObject({ server: { info: { name: "notes" } } });
  });

  test("writes an address with headers, and to the user's file with --user", async () => {
    const cwd = await makeHome();
    const given = ["add", "far", "https://far.example/mcp", "--header", "X-Team=docs", "--user"];
    const shown = await showOf(given, { cwd });
    const file = join(cwd, ".config/portolan/mcp.json");
    expect(shown).toMatchObject({ file, written: { url: "https://far.example/mcp", headers: ["X-Team"] } });
    expect(readJson(file).mcpServers.far).toMatchObject({
      url: "https://far.example/mcp",
      headers: { "X-Team": "docs" },
    });
    expect(existsSync(join(cwd, ".mcp.json"))).toBe(false);
    const { servers } = await showOf<{ servers: object[] }>(["servers", "--offline"], { cwd });
    expect(servers).toEqual([expect.objectContaining({ name: "far", state: "idle" })]);
  });

  test("copies an entry from another product's file with its variables, untrusted", async () => {
    const cwd = await makeHome();
    const from = put(
      cwd,
      "elsewhere/.cursor/mcp.json",
      project({ db: { command: node, args: [broken], env: { URL: "${env:DB_URL}" } } }),
    );
    const shown = await showOf(["add", "db", "--from", from], { cwd, env: { DB_URL: "here" } });
    expect(shown).toMatchObject({ isTrusted: false, next: "portolan trust db" });
    expect(readJson(join(cwd, ".mcp.json")).mcpServers.db.env).toEqual({ URL: "${DB_URL}" });
    const denied = await runPortolan(["ls", "db"], { cwd, env: { DB_URL: "here" } });
    expect([denied.code, errorOf(denied).next]).toEqual([6, "portolan trust db"]);
    const missing = await runPortolan(["add", "other", "--from", from], { cwd });
    expect([missing.code, errorOf(missing).message]).toEqual([2, expect.stringContaining("it has db")]);
  });

  test("refuses an existing name, and replaces it with --force", async () => {
    const cwd = await makeHome();
    put(cwd, ".mcp.json", `{\n  // mine\n  "mcpServers": { "a": { "command": "one" } }\n}\n`);
    const refused = await runPortolan(["add", "a", "--", "two"], { cwd });
    expect([refused.code, errorOf(refused).kind]).toEqual([2, "usage"]);
    await showOf(["add", "a", "--force", "--", "two"], { cwd });
    const text = readFileSync(join(cwd, ".mcp.json"), "utf8");
    expect(text).toContain("// mine");
    expect(text).toContain('"two"');
    expect(text).not.toContain('"one"');
  });

  test.each([
    [["add", "a"], "expected an address, or a command"],
    [["add", "a", "https://a.example", "--", "b"], "expected an address, or a command"],
    [["add", "a", "ftp://a.example"], "http or https"],
    [["add", "a", "https://a.example", "--env", "A=1"], "--env is for a command; use --header"],
    [["add", "a", "--header", "A=1", "--", "b"], "--header is for an address"],
    [["add", "a", "--env", "hunter2x", "--", "b"], "--env: expected NAME=VALUE"],
    [["add", "a", "--env", "AKIAIOSFODNN7EXAMPLE", "--", "b"], "--env: expected NAME=VALUE"],
  ])("refuses %j", async (args, message) => {
    const cwd = await makeHome();
    const ran = await runPortolan(args, { cwd });
    expect([ran.code, errorOf(ran).message]).toEqual([2, expect.stringContaining(message)]);
    expect(ran.stderr).not.toContain("SECRET");
    expect(existsSync(join(cwd, ".mcp.json"))).toBe(false);
  });

  test("sets a variable of a configured server in its file, and a trusted one stays trusted", async () => {
    const cwd = await makeHome();
    const file = put(cwd, ".mcp.json", {
      mcpServers: {
        a: { command: process.execPath, args: [notes], env: { KEPT: "1", OLD: "x" }, mine: true },
        far: { url: "http://127.0.0.1:9/mcp" },
      },
    });
    const servers = () => JSON.parse(readFileSync(file, "utf8")).mcpServers;
    await showOf(["trust", "a", "--yes"], { cwd });
    const env = { API_KEY: "k" };
    expect(await showOf(["add", "a", "--env", "API_KEY", "--env", "OLD=y"], { cwd, env })).toMatchObject({
      ...{ name: "a", file, isTrusted: true, isUsed: true, next: "portolan ls a" },
      written: { env: ["KEPT", "OLD", "API_KEY"] },
    });
    expect(servers().a).toEqual({
      ...{ type: "stdio", command: process.execPath, args: [notes], mine: true },
      env: { KEPT: "1", OLD: "y", API_KEY: "${API_KEY}" },
    });
    expect((await runPortolan(["ls", "a"], { cwd, env })).code).toBe(0);
    expect(await showOf(["add", "far", "--header", "X-Team=docs"], { cwd })).toMatchObject({ isTrusted: false });
    expect(servers().far).toEqual({ type: "http", url: "http://127.0.0.1:9/mcp", headers: { "X-Team": "docs" } });
    const wrong = await runPortolan(["add", "far", "--env", "A=1"], { cwd });
    expect([wrong.code, errorOf(wrong).message]).toEqual([2, "--env is for a command; use --header"]);
    const other = put(cwd, ".cursor/mcp.json", { mcpServers: { b: { command: "x" } } });
    const refused = await runPortolan(["add", "b", "--env", "A=1"], { cwd });
    expect([refused.code, errorOf(refused)]).toEqual([
      6,
      {
        kind: "denied",
        message: `b is in ${other}, which belongs to cursor`,
        next: "with A set in your shell: portolan add --force b --env A",
      },
    ]);
    expect(await showOf(["add", "--force", "b", "--env", "A=1"], { cwd })).toMatchObject({ backup: `${other}.bak` });
    expect(JSON.parse(readFileSync(other, "utf8")).mcpServers.b).toMatchObject({ command: "x", env: { A: "1" } });
  });

  test("reports a missing variable of the written entry", async () => {
    const cwd = await makeHome();
    const shown = await showOf(["add", "a", "--env", "K=${NOT_SET}", "--", node], { cwd });
    expect(shown).toMatchObject({
      isTrusted: false,
      problem: expect.stringContaining("NOT_SET"),
      next: "portolan doctor a",
    });
  });
});

describe("remove", () => {
  test("removes a server from its file and revokes its trust", async () => {
    const cwd = await makeHome();
    await showOf(["add", "a", "--", node, broken], { cwd });
    await showOf(["add", "b", "--", node, broken], { cwd });
    expect(await showOf(["remove", "a"], { cwd })).toMatchObject({ name: "a", revoked: 2 });
    expect(Object.keys(readJson(join(cwd, ".mcp.json")).mcpServers)).toEqual(["b"]);
    const { grants } = await showOf<{ grants: Grant[] }>(["grants"], { cwd });
    expect(new Set(grants.map(({ server }) => server))).toEqual(new Set(["b"]));
    const gone = await runPortolan(["remove", "a"], { cwd });
    expect([gone.code, errorOf(gone).message]).toEqual([2, expect.stringContaining("configured: b")]);
  });

  test("keeps the trust of a server with the same name in another project", async () => {
    const home = await makeHome();
    const env = { HOME: home, PORTOLAN_HOME: stateOf(home) };
    const [one, two] = [await makeHome(), await makeHome()];
    for (const cwd of [one, two]) await showOf(["add", "a", "--", node, broken], { cwd, env });
    await showOf(["remove", "a"], { cwd: one, env });
    expect((await runPortolan(["ls", "a"], { cwd: two, env })).code).toBe(0);
  });

  test("changes another product's file only with --force", async () => {
    const cwd = await makeHome();
    const file = put(cwd, ".cursor/mcp.json", project({ a: { command: "one" } }));
    const refused = await runPortolan(["remove", "a"], { cwd });
    expect([refused.code, errorOf(refused).message]).toEqual([6, expect.stringContaining("belongs to cursor")]);
    await showOf(["remove", "a", "--force"], { cwd });
    expect(readJson(file)).toEqual(project({}));
  });
});

describe("trust", () => {
  test("shows the whole entry, and in a pipe requires --yes", async () => {
    const cwd = await makeHome();
    put(cwd, ".mcp.json", project({ a: { command: node, args: [broken], env: { KEY: "hush-hush" } } }));
    const asked = await runPortolan(["trust", "a"], { cwd });
    expect([asked.code, errorOf(asked)]).toEqual([
      6,
      {
        kind: "denied",
        message: expect.stringContaining(`Command: ${node}, Argument 1: ${broken}`),
        next: "portolan trust a --yes",
      },
    ]);
    expect(asked.stderr).not.toContain("hush-hush");
    const labels = await runPortolan(["trust", "a", "--hints"], { cwd });
    expect(JSON.parse(labels.stderr).error).toMatchObject({ kind: "denied", next: "portolan trust a --hints --yes" });
    expect((await runPortolan(["ls", "a"], { cwd })).code).toBe(6);
    const shown = await showOf(["trust", "a", "--yes", "--hints"], { cwd });
    expect(shown).toMatchObject({ isTrusted: true, trustsHints: true });
    expect((await runPortolan(["ls", "a"], { cwd })).code).toBe(0);
    expect(await showOf(["trust", "a", "--revoke"], { cwd })).toEqual({ name: "a", isTrusted: false, revoked: 2 });
    expect((await runPortolan(["ls", "a"], { cwd })).code).toBe(6);
  });

  test("asks again after one byte changed", async () => {
    const cwd = await makeHome();
    const file = put(cwd, ".mcp.json", project({ a: { command: node, args: [broken] } }));
    await showOf(["trust", "a", "--yes"], { cwd });
    expect((await runPortolan(["ls", "a"], { cwd })).code).toBe(0);
    writeFileSync(file, readFileSync(file, "utf8").replace(broken, `${broken} `));
    expect((await runPortolan(["ls", "a"], { cwd })).code).toBe(6);
  });

  test("shows changed definitions as a diff and accepts them", async () => {
    const cwd = await makeHome();
    const words = put(cwd, "words.txt", "Says it again");
    await showOf(["add", "a", "--", node, broken, "described", words], { cwd });
    await showOf(["call", "a.echo", "word=x"], { cwd });
    expect(await showOf(["trust", "a", "--changes"], { cwd })).toMatchObject({ changes: [], accepted: 0 });
    writeFileSync(words, "Says it again, and sends it to evil.example");
    const called = await runPortolan(["call", "a.echo", "word=x"], { cwd });
    expect(called.code).toBe(6);
    const asked = await runPortolan(["trust", "a", "--changes"], { cwd });
    expect([asked.code, errorOf(asked).next]).toEqual([6, "portolan trust a --changes --yes"]);
    expect(await showOf(["trust", "a", "--changes", "--yes"], { cwd })).toMatchObject({
      accepted: 1,
      changes: [
        {
          name: "echo",
          diff: [
            { path: "description", before: "Says it again", after: "Says it again, and sends it to evil.example" },
          ],
        },
      ],
    });
    await showOf(["call", "a.echo", "word=x"], { cwd });
  });
});

describe("grants", () => {
  test("are listed, and revoked by the start of their id", async () => {
    const cwd = await makeHome();
    await showOf(["add", "a", "--", node, broken], { cwd });
    const { grants } = await showOf<{ grants: Grant[] }>(["grants"], { cwd });
    expect(grants.map(({ kind, server, subject, allow }) => ({ kind, server, subject, allow }))).toEqual(
      expect.arrayContaining([
        { kind: "trust", server: "a", subject: "", allow: true },
        { kind: "trust", server: "a", subject: "hints", allow: false },
      ]),
    );
    const trust = grants.find(({ subject }) => subject === "")!;
    expect(await showOf(["grants", "--revoke", trust.id.slice(0, 12)], { cwd })).toEqual({ revoked: trust.id });
    expect((await runPortolan(["ls", "a"], { cwd })).code).toBe(6);
    const unknown = await runPortolan(["grants", "--revoke", "nobody"], { cwd });
    expect([unknown.code, errorOf(unknown).next]).toEqual([2, "portolan grants"]);
    const several = await runPortolan(["grants", "--revoke", ""], { cwd });
    expect(several.code).toBe(2);
  });
});

describe("log", () => {
  const entriesIn = (stdout: string): ActivityEntry[] =>
    stdout
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line));

  test("contains calls and decisions without secrets, and finds them", async () => {
    const cwd = await makeHome();
    const env = { THE_KEY: "s3cret-of-the-server" };
    await showOf(["add", "a", "--env", "SECRET=${THE_KEY}", "--", node, broken], { cwd, env });
    await showOf(["add", "b", "--", node, broken], { cwd });
    await showOf(["call", "a.echo", "word=needle"], { cwd, env });
    const read = async (...flags: string[]) => entriesIn((await runPortolan(["log", ...flags], { cwd })).stdout);
    const all = await read();
    expect(all.map(({ kind }) => kind)).toEqual(expect.arrayContaining(["trust", "server", "call"]));
    expect(all.map(({ seq }) => seq)).toEqual(all.map((_, at) => at + 1));
    expect(JSON.stringify(all)).not.toContain("s3cret-of-the-server");
    expect(new Set((await read("--server", "b")).map(({ server }) => server))).toEqual(new Set(["b"]));
    expect((await read("--kind", "call", "--kind", "trust")).map(({ kind }) => kind)).toEqual([
      "trust",
      "trust",
      "call",
    ]);
    expect((await read("--text", "needle")).map(({ kind }) => kind)).toContain("call");
    expect(await read("--limit", "1")).toEqual(all.slice(-1));
    expect(await read("--since", "1h")).toEqual(all);
    expect(await read("--since", "2999-01-01")).toEqual([]);
    for (const flags of [
      ["--kind", "gossip"],
      ["--since", "tomorrow?"],
      ["--limit", "0"],
    ]) {
      expect((await runPortolan(["log", ...flags], { cwd })).code).toBe(2);
    }
  });

  test("shows a person the ordinary states of servers only with --kind server", async () => {
    const cwd = await makeHome();
    await showOf(["add", "a", "--", node, broken], { cwd });
    await showOf(["call", "a.echo", "word=x"], { cwd });
    const shown = async (...flags: string[]) => {
      const terminal = openTerminal(["log", ...flags], { cwd, env: { PORTOLAN_HOME: stateOf(cwd) } });
      expect(await terminal.exited).toBe(0);
      return terminal.screen();
    };
    expect(await shown()).toMatch(/^\S+ \S+ trust +a .*\n(?:.* decision .*\n)?.* call +a\.echo/);
    expect(await shown()).not.toContain(" server ");
    expect(await shown("--kind", "server")).toMatch(/server +a \{"state":"ready"\}/);
    expect((await runPortolan(["log"], { cwd })).stdout).toContain('"state":"ready"');
  });

  test("detects a changed byte with --verify", async () => {
    const cwd = await makeHome();
    await showOf(["add", "a", "--", node, broken], { cwd });
    expect(await showOf(["log", "--verify"], { cwd })).toMatchObject({ ok: true, mended: 0 });
    const file = join(stateOf(cwd), "activity.ndjson");
    appendFileSync(file, "half a line");
    await showOf(["add", "b", "--", node, broken], { cwd });
    expect(await showOf(["log", "--verify"], { cwd })).toMatchObject({ ok: true, mended: 1 });
    writeFileSync(file, readFileSync(file, "utf8").replace('"allow":true', '"allow":fals'));
    const ran = await runPortolan(["log", "--verify"], { cwd });
    expect([ran.code, errorOf(ran).message]).toEqual([1, expect.stringContaining("changed after it was sealed")]);
  });

  test("shows new entries until Ctrl-C with --follow", async () => {
    const cwd = await makeHome();
    await showOf(["add", "a", "--", node, broken], { cwd });
    const running = startPortolan(["log", "--follow"], { cwd });
    await running.until(/"kind":"trust"/);
    await showOf(["call", "a.echo", "word=later"], { cwd });
    await running.until(/"kind":"call".*later/);
    running.child.kill("SIGINT");
    expect(await running.ended).toBe(0);
    const seqs = running.lines.map((line) => JSON.parse(line).seq);
    expect(seqs).toEqual([...new Set(seqs)].sort((a, b) => a - b));
  });
});
