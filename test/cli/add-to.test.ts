// biome-ignore-all lint/suspicious/noTemplateCurlyInString: this is how files write variables
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeHome, root } from "./kit.ts";
import { errorOf, put, runPortolan, showOf, stateOf } from "./manage-kit.ts";
import { openTerminal } from "./pseudo-terminal.ts";

const read = (...path: string[]) => readFileSync(join(...path), "utf8");

const commented = `{
  // mine
  "mcpServers": {
    "old": { "command": "x" } // keep
  }
}
`;

test("add --to writes the file of another product, keeps its comments and a backup, and shows the change", async () => {
  const cwd = makeHome();
  put(cwd, ".cursor/mcp.json", commented);
  const args = ["add", "db", "--to", "cursor", "--env", "URL=${DB_URL}", "--", "node", "server.js"];
  const shown = await showOf(args, { cwd, env: { DB_URL: "here" } });
  const file = join(cwd, ".cursor/mcp.json");
  expect(shown).toMatchObject({ name: "db", file, backup: `${file}.bak`, isTrusted: true, next: "portolan ls db" });
  expect(shown["diff"]).toEqual([
    '+     "db": {',
    '+       "command": "node",',
    '+       "args": [',
    '+         "server.js"',
    "+       ],",
    '+       "env": {',
    '+         "URL": "${env:DB_URL}"',
    "+       }",
    "+     }",
  ]);
  expect(read(`${file}.bak`)).toBe(commented);
  expect(statSync(`${file}.bak`).mode & 0o777).toBe(0o600);
  expect(read(file)).toContain("// mine");
  await showOf(["add", "other", "--to", "cursor", "--", "node"], { cwd });
  expect(existsSync(`${file}.bak-2`)).toBe(true);
  expect(read(`${file}.bak`)).toBe(commented);
});

test("add --to shows no secret of the file, however it is written", async () => {
  const cwd = makeHome();
  const token = "ghp_0123456789abcdefghijklmnopqrstuvwxyz";
  const password = 'hunter"2\\hunter-S3cret';
  const github = { command: "npx", args: ["gh-server"], env: { GITHUB_TOKEN: token, DB_PASSWORD: password } };
  const file = { api_key: "unknown-to-any-server", mcpServers: { github } };
  put(cwd, ".cursor/mcp.json", JSON.stringify(file));
  put(cwd, ".codeium/windsurf/mcp_config.json", JSON.stringify(file, undefined, 2));
  const own = ["--env", `DB_PASSWORD=${password}`, "--", "node", "x.js"];
  for (const product of ["cursor", "windsurf"]) {
    const plain = await showOf(["add", "hello", "--to", product, "--", "node", "hello.js"], { cwd });
    const secret = await showOf(["add", "secret", "--to", product, ...own], { cwd });
    const replaced = await showOf(["add", "github", "--to", product, "--force", "--", "node", "hello.js"], { cwd });
    const other = ["--env", `DB_PASSWORD=${password}-other`, "--", "node", "x.js"];
    const changed = await showOf(["add", "secret", "--to", product, "--force", ...other], { cwd });
    expect(changed["diff"]).toHaveLength(2);
    const shown = JSON.stringify([plain["diff"], secret["diff"], replaced["diff"], changed["diff"]]);
    expect(shown).toContain("hello");
    expect(shown).not.toMatch(/ghp_|hunter|unknown-to/);
  }
});

test.each([
  { command: "x", args: ["-p", "hunter2"] },
  { command: "x", args: ["login", "hunter2"] },
  { command: "x", disabled: true, env: { DB: "hunter2" } },
  { url: "https://far.example/", headers: { "X-Custom": "hunter2" } },
])("add --to shows nothing of another server: %j", async (other) => {
  const cwd = makeHome();
  for (const text of [
    JSON.stringify({ mcpServers: { other } }),
    JSON.stringify({ mcpServers: { other } }, undefined, 2),
    JSON.stringify({ mcpServers: { other } }).replace("}}}", "} /* hunter2 */ } }"),
  ]) {
    put(cwd, ".cursor/mcp.json", text);
    const added = await runPortolan(["add", "db", "--to", "cursor", "--", "node"], { cwd });
    const replaced = await runPortolan(["add", "db", "--to", "cursor", "--force", "--", "deno"], { cwd });
    expect([added.code, replaced.code]).toEqual([0, 0]);
    expect(JSON.stringify([added, replaced])).not.toMatch(/hunter2|other/);
    expect(JSON.parse(replaced.stdout).diff).toEqual(['-       "command": "node"', '+       "command": "deno"']);
  }
});

test.each([
  ["claude", ".config/Claude/claude_desktop_config.json", [], "mcpServers"],
  ["claude-code", ".mcp.json", [], "mcpServers"],
  ["claude-code", ".claude.json", ["--user"], "mcpServers"],
  ["vscode", ".vscode/mcp.json", [], "servers"],
  ["vscode", ".config/Code/User/mcp.json", ["--user"], "servers"],
  ["codex", ".codex/config.toml", [], "mcp_servers"],
  ["zed", ".zed/settings.json", [], "context_servers"],
  ["goose", ".config/goose/config.yaml", [], "extensions"],
  ["windsurf", ".codeium/windsurf/mcp_config.json", [], "mcpServers"],
])("add --to %s creates %s", async (product, path, flags, member) => {
  const home = makeHome();
  const cwd = home;
  const shown = await showOf(["add", "a", "--to", product, ...flags, "--", "node", "x.js"], { cwd });
  expect(shown).toMatchObject({ file: join(home, path) });
  expect(shown).not.toHaveProperty("backup");
  expect(read(home, path)).toContain(member);
  const { servers } = await showOf<{ servers: object[] }>(["servers", "--offline"], { cwd });
  expect(servers).toEqual([expect.objectContaining({ name: "a", state: "idle" })]);
});

test("add --to without a command copies the configured server of this name, and shows no secrets", async () => {
  const cwd = makeHome();
  const headers = { Authorization: "Bearer abcdef-very-secret", "X-Team": "docs" };
  put(cwd, ".mcp.json", { mcpServers: { far: { url: "https://far.example/mcp", headers } } });
  const ran = await runPortolan(["add", "far", "--to", "vscode"], { cwd });
  expect(ran.stdout).not.toContain("very-secret");
  expect(JSON.parse(ran.stdout)).toMatchObject({ isTrusted: false, isUsed: false, next: "portolan servers" });
  expect(JSON.parse(read(cwd, ".vscode/mcp.json")).servers.far).toMatchObject({ headers });
  const again = await runPortolan(["add", "far", "--to", "vscode"], { cwd });
  expect([again.code, errorOf(again).message]).toEqual([2, expect.stringContaining("already has a server")]);
  await showOf(["add", "far", "--to", "vscode", "--force"], { cwd });
});

test("add --from copies from a product by its name, or from its file, although the name is known there", async () => {
  const cwd = makeHome();
  put(cwd, ".cursor/mcp.json", commented);
  expect(await showOf(["add", "old", "--from", "cursor"], { cwd })).toMatchObject({
    file: join(cwd, ".mcp.json"),
    isTrusted: false,
    isUsed: true,
    next: "portolan trust old",
  });
  await showOf(["add", "old", "--from", join(cwd, ".cursor/mcp.json"), "--user"], { cwd });
  const missing = await runPortolan(["add", "old", "--from", "zed"], { cwd });
  expect([missing.code, errorOf(missing).message]).toEqual([2, "zed has no file for this folder or this user"]);
  const unknown = await runPortolan(["add", "old", "--from", "nosuch"], { cwd });
  expect([unknown.code, errorOf(unknown).message]).toEqual([
    2,
    expect.stringMatching(/^--from: no product and no file is named "nosuch"; products: .*\bcursor\b/),
  ]);
});

test("refuses what a product cannot express, and leaves no backup", async () => {
  const cwd = makeHome();
  put(cwd, ".zed/settings.json", "{}\n");
  const args = ["add", "db", "--to", "zed", "--env", "URL=${DB_URL}", "--", "node"];
  const ran = await runPortolan(args, { cwd });
  expect([ran.code, errorOf(ran).message]).toEqual([2, expect.stringContaining("zed has no notation for ${DB_URL}")]);
  expect(read(cwd, ".zed/settings.json")).toBe("{}\n");
  expect(existsSync(join(cwd, ".zed/settings.json.bak"))).toBe(false);
  const unknown = await runPortolan(["add", "a", "--to", "netscape", "--", "x"], { cwd });
  expect([unknown.code, errorOf(unknown).message]).toEqual([
    2,
    expect.stringContaining('no product is named "netscape"'),
  ]);
});

test("offers a reference for a secret on the command line", async () => {
  const cwd = makeHome();
  const env = { PORTOLAN_HOME: stateOf(cwd) };
  const line = ["add", "db", "--env", "API_KEY=sk-0123456789abcdef0123", "--env", "MODE=fast", "--", "node", "x.js"];
  const terminal = openTerminal(line, { cwd, env, columns: 80 });
  await terminal.answer(/API_KEY looks like a secret[\s\S]*w write the value/, "r\r");
  expect(await terminal.exited).toBe(0);
  expect(JSON.parse(read(cwd, ".mcp.json")).mcpServers.db.env).toEqual({ API_KEY: "${API_KEY}", MODE: "fast" });
  expect(terminal.screen().replace(/\s+/g, " ")).toContain("set the environment variable API_KEY");
  expect(terminal.screen()).toMatch(/→ portolan doctor db$/);
  expect(terminal.screen()).not.toContain("sk-0123456789abcdef0123");
  const second = openTerminal([...line.slice(0, 2), "--force", ...line.slice(2)], { cwd, env, columns: 80 });
  await second.answer(/w write the value/, "w\r");
  expect(await second.exited).toBe(0);
  expect(JSON.parse(read(cwd, ".mcp.json")).mcpServers.db.env.API_KEY).toBe("sk-0123456789abcdef0123");
  expect(second.screen().replace(/\s+/g, " ")).toContain(
    "the value of API_KEY is in the file; to keep it out, write --env 'API_KEY=${API_KEY}'",
  );
});

test("the reference that is offered for a header names a variable of the server", async () => {
  const cwd = makeHome();
  const env = { PORTOLAN_HOME: stateOf(cwd), MY_FAR_TOKEN: "abcdef0123456789" };
  const line = ["add", "my-far", "https://far.example/mcp", "--header", "Authorization=Bearer abcdef0123456789"];
  const terminal = openTerminal(line, { cwd, env, columns: 80 });
  await terminal.answer(/Authorization looks like a secret[\s\S]*w write the value/, "r\r");
  expect(await terminal.exited).toBe(0);
  expect(JSON.parse(read(cwd, ".mcp.json")).mcpServers["my-far"].headers).toEqual({
    Authorization: "Bearer ${MY_FAR_TOKEN}",
  });
});

test("in a pipe, a secret is written, and the output says how to keep it out", async () => {
  const cwd = makeHome();
  const line = ["add", "db", "--env", "API_KEY=sk-0123456789abcdef0123", "--", "node", "x.js"];
  const { warnings } = await showOf<{ warnings: string[] }>(line, { cwd });
  expect(warnings).toEqual(["the value of API_KEY is in the file; to keep it out, write --env 'API_KEY=${API_KEY}'"]);
});

test("a variable that is named like a secret in short is reported as one, and hidden", async () => {
  const cwd = makeHome();
  const servers = { k: { command: "node", args: ["x.js"], env: { TOK: "s3cr3t", MODE: "faster" } } };
  writeFileSync(join(cwd, "private.json"), JSON.stringify({ mcpServers: servers }));
  const { code, stdout } = await runPortolan(["add", "k", "--from", "private.json"], { cwd });
  expect([code, JSON.parse(stdout).warnings]).toEqual([
    0,
    [expect.stringMatching(/^the value of TOK is copied to .* --env 'TOK=\$\{TOK\}'$/)],
  ]);
  const { stderr } = await runPortolan(["trust", "k"], { cwd });
  expect(stderr).toContain("TOK (hidden: it has the name of a secret), Variable: MODE=faster");
  expect(stderr).not.toContain("s3cr3t");
});

test("a copy of a secret into another file is reported, with the command that keeps it out, and offered as a reference", async () => {
  const cwd = makeHome();
  const secret = "sk-0123456789abcdef0123";
  writeFileSync(
    join(cwd, "private.json"),
    JSON.stringify({ mcpServers: { k: { command: "node", args: ["x.js"], env: { API_KEY: secret, MODE: "fast" } } } }),
  );
  const line = ["add", "k", "--from", "private.json"];
  const { warnings } = await showOf<{ warnings: string[] }>(line, { cwd });
  const command = "portolan add --force k --from private.json --env 'API_KEY=${API_KEY}'";
  expect(warnings).toEqual([
    `the value of API_KEY is copied to ${join(cwd, ".mcp.json")} in clear; to keep it out: ${command}`,
  ]);
  const written = () => JSON.parse(read(cwd, ".mcp.json")).mcpServers.k.env;
  expect(written()).toEqual({ API_KEY: secret, MODE: "fast" });
  const typed = ["add", "--force", "k", "--from", "private.json", "--env", "API_KEY=${API_KEY}"];
  expect(await showOf(typed, { cwd })).not.toHaveProperty("warnings");
  expect(written()).toEqual({ API_KEY: "${API_KEY}", MODE: "fast" });
  const to = await showOf<{ warnings: string[] }>(["add", "k", "--from", "private.json", "--to", "cursor"], { cwd });
  expect(to.warnings).toEqual([expect.stringContaining(`copied to ${join(cwd, ".cursor/mcp.json")} in clear`)]);
  const terminal = openTerminal([...line, "--force"], { cwd, env: { PORTOLAN_HOME: stateOf(cwd) }, columns: 80 });
  await terminal.answer(/API_KEY looks like a secret[\s\S]*w write the value/, "r\r");
  expect(await terminal.exited).toBe(0);
  expect(written()).toEqual({ API_KEY: "${API_KEY}", MODE: "fast" });
});

test("add sets a variable in an entry of another product as that product writes it", async () => {
  const cwd = makeHome();
  const env = { ACME_API_KEY: "k" };
  const server = put(
    cwd,
    "acme.mjs",
    `if (!process.env.ACME_API_KEY) { console.error("ACME_API_KEY is not set"); process.exit(1); }
await import(${JSON.stringify(join(root, "test/cli/asking-server.mjs"))});`,
  );
  put(cwd, ".cursor/mcp.json", { mcpServers: { acme: { command: process.execPath, args: [server] } } });
  await showOf(["trust", "acme", "--yes"], { cwd });
  const { stdout } = await runPortolan(["doctor", "acme"], { cwd, env });
  expect(JSON.parse(stdout).findings[0]).toMatchObject({
    next: "portolan add --force acme --env ACME_API_KEY",
  });
  await showOf(["add", "--force", "acme", "--env", "ACME_API_KEY"], { cwd, env });
  expect(JSON.parse(read(cwd, ".cursor/mcp.json")).mcpServers.acme.env).toEqual({
    ACME_API_KEY: "${env:ACME_API_KEY}",
  });
  expect((await runPortolan(["ls", "acme"], { cwd, env })).code).toBe(0);
  expect(JSON.parse((await runPortolan(["doctor", "acme"], { cwd, env })).stdout).findings).toEqual([]);
});

test("add names the file that is used instead of an entry which it wrote, and servers lists the entry", async () => {
  const cwd = makeHome();
  put(cwd, ".mcp.json", { mcpServers: { multi: { command: "x" } } });
  const adding = openTerminal(["add", "multi", "--user", "--force", "--", "node"], { cwd, columns: 200 });
  await adding.exited;
  expect(adding.screen()).toContain(`This entry is not used: ${join(cwd, ".mcp.json")} has multi too, and comes first`);
  const listing = openTerminal(["servers", "--offline"], { cwd, columns: 200 });
  await listing.exited;
  expect(listing.screen()).toMatch(
    /multi in \S*portolan\/mcp\.json is not used: \.mcp\.json has multi too, and comes first/,
  );
});
