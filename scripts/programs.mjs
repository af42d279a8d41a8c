// @ts-check
// The programs of the system that some tests need: where they are, how to install them, and which tests need them.
import { accessSync, constants, existsSync, readdirSync, readFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";

/**
 * @typedef {object} Program
 * @property {string} name
 * @property {readonly string[]} commands names on the PATH; the first that exists is used
 * @property {readonly string[]} [elsewhere] folders that are often not on the PATH; `*` is any version, the newest first
 * @property {string} apt the package of Debian and Ubuntu
 * @property {string} brew the package of Homebrew
 * @property {RegExp} usedBy matches the source of a test that needs it, or of a file that the test imports
 * @property {NodeJS.Platform} [only] the one platform on which it works as the tests use it
 * @property {RegExp} [titles] matches the titles of the tests that need it. Default: all tests of the file.
 */

/** @type {readonly Program[]} */
export const programs = [
  {
    ...{ name: "chromium", apt: "chromium", brew: "--cask chromium" },
    commands: ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "Chromium", "Google Chrome"],
    elsewhere: ["/Applications/Chromium.app/Contents/MacOS", "/Applications/Google Chrome.app/Contents/MacOS"],
    usedBy: /executablePath/,
  },
  {
    ...{ name: "git", apt: "git", brew: "git", commands: ["git"] },
    usedBy: /execFileSync\("git"|scripts\/(?:start|picture)\.mjs/,
  },
  {
    ...{ name: "postgresql", apt: "postgresql", brew: "postgresql" },
    commands: ["initdb"],
    elsewhere: ["/usr/lib/postgresql/*/bin", "/opt/homebrew/opt/postgresql*/bin", "/usr/local/opt/postgresql*/bin"],
    usedBy: /startPostgres\(/,
  },
  {
    ...{ name: "redis-server", apt: "redis-server", brew: "redis", commands: ["redis-server"] },
    usedBy: /findProgram\("redis-server"\)/,
  },
  {
    ...{ name: "nginx", apt: "nginx-light", brew: "nginx", commands: ["nginx"] },
    elsewhere: ["/usr/sbin"],
    usedBy: /findProgram\("nginx"\)/,
    titles: /^nginx\.conf > /,
  },
  {
    ...{ name: "openssl", apt: "openssl", brew: "openssl", commands: ["openssl"] },
    usedBy: /execFileSync\(\s*"openssl"/,
  },
  { ...{ name: "zsh", apt: "zsh", brew: "zsh", commands: ["zsh"] }, usedBy: /"zsh", "-f"/, titles: /^zsh > / },
  { ...{ name: "fish", apt: "fish", brew: "fish", commands: ["fish"] }, usedBy: /"fish", "--/, titles: /^fish > / },
  {
    ...{ name: "script", apt: "bsdutils", brew: "util-linux", commands: ["script"], only: "linux" },
    usedBy: /spawn(?:Sync)?\("script"/,
  },
  { ...{ name: "wrk", apt: "wrk", brew: "wrk", commands: ["wrk"] }, usedBy: /driver\/wrk\.mjs/ },
];

/** Finds a program by its name in `programs`. Returns undefined if it is not installed. */
export function findProgram(/** @type {string} */ name, env = process.env) {
  const program = programs.find((one) => one.name === name);
  if (!program) throw new Error(`No program ${name} in scripts/programs.mjs`);
  if (program.only && program.only !== process.platform) return undefined;
  return findIn([...foldersOnPath(env), ...(program.elsewhere ?? []).flatMap(expand)], program.commands);
}

/** Returns true if a command is on the PATH. */
export function isOnPath(/** @type {string} */ command, env = process.env) {
  return findIn(foldersOnPath(env), [command]) !== undefined;
}

/** @param {NodeJS.ProcessEnv} env */
function foldersOnPath(env) {
  return (env["PATH"] ?? "").split(delimiter).filter(Boolean);
}

/** @param {readonly string[]} folders @param {readonly string[]} commands */
function findIn(folders, commands) {
  for (const folder of folders) {
    for (const command of commands) if (isExecutable(join(folder, command))) return join(folder, command);
  }
  return undefined;
}

/** Returns the command that installs a program on this machine. */
export function installCommand(/** @type {Program} */ { apt, brew, only }) {
  if (only && only !== process.platform) return `run the tests on ${only}`;
  if (process.platform === "darwin") return `brew install ${brew}`;
  return `${process.getuid?.() === 0 ? "" : "sudo "}apt-get install ${apt}`;
}

/** Returns the programs that a test file needs and that are not installed. */
export function missingFor(/** @type {string} */ file, env = process.env) {
  const sources = sourcesOf(file);
  return programs.filter(({ name, usedBy }) => sources.some((text) => usedBy.test(text)) && !findProgram(name, env));
}

/** Returns the text of a test and of all test files that it imports. @param {string} file @param {Set<string>} [seen] @returns {string[]} */
function sourcesOf(file, seen = new Set()) {
  if (seen.has(file) || !existsSync(file)) return [];
  seen.add(file);
  const text = readFileSync(file, "utf8");
  const imported = [...text.matchAll(/^import [^;]*?"(\.[^"]+\.ts)";/gm)].map(([, path = ""]) => path);
  return [text, ...imported.flatMap((path) => sourcesOf(join(dirname(file), path), seen))];
}

/** Returns the folders that a path with one `*` stands for, the newest version first. */
function expand(/** @type {string} */ path) {
  const parts = path.split("/");
  const at = parts.findIndex((part) => part.includes("*"));
  if (at === -1) return [path];
  const parent = parts.slice(0, at).join("/");
  const prefix = parts[at]?.replace("*", "") ?? "";
  const found = existsSync(parent) ? readdirSync(parent).filter((name) => name.startsWith(prefix)) : [];
  const version = (/** @type {string} */ name) => Number(/\d+/.exec(name)?.[0] ?? 0);
  return found.sort((a, b) => version(b) - version(a)).map((name) => [parent, name, ...parts.slice(at + 1)].join("/"));
}

function isExecutable(/** @type {string} */ file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    // It does not exist, or may not be run.
    return false;
  }
}
