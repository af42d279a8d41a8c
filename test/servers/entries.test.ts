import { execFileSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { extname, join } from "node:path";
import { connect } from "portolan/client";
import { afterAll, beforeAll, expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const entries = [
  "examples/servers/asana.json",
  "examples/servers/calendar.json",
  "examples/servers/database.json",
  "examples/servers/everything.json",
  "examples/servers/fetch.json",
  "examples/servers/files.json",
  "examples/servers/git.json",
  "examples/servers/github.json",
  "examples/servers/memory.json",
  "examples/servers/openapi.json",
  "examples/servers/slack.json",
  "examples/servers/time.json",
  "examples/servers/travel.json",
  "examples/servers/weather.json",
];
const servers = readdirSync(join(root, "packages/servers")).filter((name) =>
  existsSync(join(root, "packages/servers", name, "package.json")),
);
/** The existing files that stand for those of the examples, by their extensions. */
const files: { readonly [extension: string]: string } = { ".db": "shop.db", ".yaml": "orders.yaml" };
let folder = "";

/** Packs a package as for publication and unpacks it where npx finds its program. */
function install(name: string, from: string): void {
  const args = ["pack", "--silent", "--pack-destination", folder];
  const packed = execFileSync("npm", args, { cwd: join(root, from), encoding: "utf8" })
    .trim()
    .split("\n")
    .at(-1)!;
  const target = join(folder, "node_modules", name);
  mkdirSync(target, { recursive: true });
  execFileSync("tar", ["xzf", join(folder, packed), "-C", target, "--strip-components=1"]);
  const { bin = {} } = JSON.parse(readFileSync(join(target, "package.json"), "utf8"));
  for (const [command, file] of Object.entries<string>(bin)) {
    chmodSync(join(target, file), 0o755);
    symlinkSync(join(target, file), join(folder, "node_modules/.bin", command));
  }
}

// Below the project, so that dependencies are found without a network.
beforeAll(() => {
  const cache = join(root, "node_modules/.cache/portolan");
  mkdirSync(cache, { recursive: true });
  folder = mkdtempSync(join(cache, "entries-"));
  mkdirSync(join(folder, "node_modules/.bin"), { recursive: true });
  install("portolan", "packages/portolan");
  for (const name of servers) install(`portolan-${name}`, `packages/servers/${name}`);
  execFileSync("git", ["init", "-q", folder]);
  // An empty file is an empty database.
  writeFileSync(join(folder, "shop.db"), "");
  copyFileSync(join(root, "examples/openapi/orders.yaml"), join(folder, "orders.yaml"));
}, 120_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("every server has an example configuration", () => {
  expect(entries).toEqual(servers.map((name) => `examples/servers/${name}.json`).sort());
  expect(readdirSync(join(root, "examples/servers"))).toHaveLength(entries.length);
});

test.each(entries)("%s starts the installed server", async (file) => {
  const { mcpServers } = JSON.parse(readFileSync(join(root, file), "utf8"));
  const [[name, entry]] = Object.entries(mcpServers) as [[string, { command: string; args: string[] }]];
  const { command, args } = entry;
  expect([command, ...args.slice(0, 2)]).toEqual(["npx", "-y", `portolan-${name}`]);
  // Replaces the example paths by existing ones.
  const given = args.map((one) => (one.startsWith("/") ? join(folder, files[extname(one)] ?? "") : one));
  const env = { XDG_DATA_HOME: join(folder, "data"), npm_config_offline: "true" };
  const client = await connect({ command, args: given, cwd: folder, env });
  // Only this server is named after what it serves.
  expect(client.server.info?.name).toBe(name === "openapi" ? "orders" : `portolan-${name}`);
  expect((await client.listTools()).length).toBeGreaterThan(0);
  await client.close();
});
