// @ts-check
// A temporary folder with files, a repository, the configuration of seven servers, and the storage of the host.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { folderKeyValue } from "portolan/storage/node";
import { createHost } from "portolan-host";
import { findConfigs, readConfigs } from "portolan-host/node";

/** @typedef {{ folder: string, home: string, names: string[], entries: readonly import("portolan-host").ServerEntry[], kv: import("portolan/storage").KeyValue, remove(): void }} Sandbox */

/** @returns {Promise<Sandbox>} */
export async function makeSandbox() {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "portolan-start-")));
  const files = join(folder, "files");
  mkdirSync(files);
  writeFileSync(join(files, "welcome.md"), "# Welcome\n\nWhatever happens in this folder stays in it.\n");
  writeFileSync(join(files, "shopping.txt"), "bread\nolives\n");
  const repository = join(folder, "repository");
  const hasGit = makeRepository(repository);
  const servers = {
    files: server("files", files),
    ...(hasGit && { git: server("git", repository) }),
    memory: server("memory", "--file", join(folder, "memory.log")),
    time: server("time"),
    travel: { command: process.execPath, args: [fileURLToPath(new URL("story-server.mjs", import.meta.url))] },
    weather: server("weather"),
    calendar: server("calendar", "--folder", join(folder, "calendar")),
  };
  writeFileSync(join(folder, ".mcp.json"), JSON.stringify({ mcpServers: servers }, undefined, 2));
  const home = join(folder, ".portolan");
  const kv = folderKeyValue(join(home, "store"));
  const machine = { home: folder, platform: process.platform, env: {} };
  const { entries } = await readConfigs(await findConfigs({ ...machine, cwd: folder }), machine);
  // Starting the demo implies trust in its own servers.
  const host = await createHost({ servers: entries, storage: { kv } });
  for (const name of Object.keys(servers)) await host.trust(name, { allow: true, for: "always", trustHints: true });
  await host.close();
  return {
    folder,
    home,
    names: Object.keys(servers),
    entries,
    kv,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** @param {string} name @param {string[]} args */
function server(name, ...args) {
  const main = fileURLToPath(new URL(`../../packages/servers/${name}/dist/main.js`, import.meta.url));
  return { command: process.execPath, args: [main, ...args] };
}

/** Creates a repository with a commit and a change; returns false without git. */
function makeRepository(/** @type {string} */ folder) {
  mkdirSync(folder);
  const git = (/** @type {string[]} */ ...args) =>
    spawnSync("git", ["-c", "user.name=Ada", "-c", "user.email=ada@example.com", ...args], { cwd: folder }).status ===
    0;
  writeFileSync(join(folder, "poem.txt"), "Roses are red\n");
  const isMade = git("init", "-q", "-b", "main") && git("add", ".") && git("commit", "-q", "-m", "Begin the poem");
  writeFileSync(join(folder, "poem.txt"), "Roses are red\nViolets are blue\n");
  return isMade;
}
