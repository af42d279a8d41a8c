#!/usr/bin/env node
// The beginning of the `portolan` command. Its parts follow in a comment, which costs nothing to compile, and each is compiled
// when it is first needed. What V8 has compiled is kept in the user's cache, because compiling takes most of a start.
import {
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Script } from "node:vm";
import { crc32 } from "node:zlib";

/** The names of the parts, one for each line of the comment. The bundler fills in these two. */
const names = [];
const build = "";

const self = fileURLToPath(import.meta.url);
const requireOthers = createRequire(self);
const file = readFileSync(self);
const places = findParts();
const head = "(function(exports,require,module,importOther){";
const loaded = new Map();
const scripts = new Map();
let isComplete = true;
const codeFile = findCodeFile();
const code = openCode();

function load(name) {
  const place = places.get(name);
  if (place === undefined) return requireOthers(name);
  let part = loaded.get(name);
  if (part === undefined) {
    part = { exports: {} };
    loaded.set(name, part);
    compile(name, place).runInThisContext()(part.exports, load, part, (specifier) => import(specifier));
  }
  return part.exports;
}

/** Returns where each part begins and ends. */
function findParts() {
  const mark = "\n/*" + " parts";
  let end = file.indexOf("\n", file.indexOf(mark) + mark.length);
  return new Map(
    names.map((name) => {
      const begin = end + 1;
      end = file.indexOf("\n", begin);
      return [`./${name}`, [begin, end]];
    }),
  );
}

function compile(name, [begin, end]) {
  const text = file.toString("utf8", begin, end).replaceAll("*\u0001", "*/").replaceAll("\u0002", "\n");
  const cachedData = compiledOf(name);
  const script = new Script(`${head}${text}\n})`, {
    filename: join(dirname(self), name),
    columnOffset: -head.length,
    cachedData,
  });
  if (cachedData === undefined || script.cachedDataRejected) isComplete = false;
  scripts.set(name, script);
  return script;
}

/** Returns the file for compiled code of this build and this Node. Undefined if there is no place for it. */
function findCodeFile() {
  const { XDG_CACHE_HOME, NODE_DISABLE_COMPILE_CACHE, NODE_OPTIONS } = process.env;
  if (NODE_DISABLE_COMPILE_CACHE) return undefined;
  try {
    const place = XDG_CACHE_HOME || join(homedir(), ".cache");
    // A home that does not exist is not created.
    if (!existsSync(dirname(place))) return undefined;
    const runtime = JSON.stringify([process.version, process.arch, process.execArgv, NODE_OPTIONS]);
    return join(place, "portolan", `code-${build}-${crc32(runtime).toString(16)}`);
  } catch {
    // A user without a home.
    return undefined;
  }
}

/** Opens the compiled code of earlier runs: the length of an index, the index, and the code of each part. */
function openCode() {
  let fd;
  try {
    fd = openSync(codeFile, "r");
    const { uid, mode, size } = fstatSync(fd);
    // V8 runs compiled code without a check, so nobody else may have written it.
    if ((mode & 0o022) !== 0 || (process.getuid && uid !== process.getuid())) throw new Error("written by others");
    const length = read(fd, 0, 4).readUInt32LE();
    if (length > size) throw new Error("cut");
    return { fd, places: JSON.parse(read(fd, 4, length).toString()), begin: 4 + length };
  } catch {
    // No file, or one that cannot be used: it is written when this run ends.
    if (fd !== undefined) closeSync(fd);
    return undefined;
  }
}

function read(fd, at, bytes) {
  const buffer = Buffer.alloc(bytes);
  if (readSync(fd, buffer, 0, bytes, at) !== bytes) throw new Error("cut");
  return buffer;
}

/** Returns the compiled code of a part. Undefined if it is not there or damaged. */
function compiledOf(name) {
  const [at, bytes, sum] = code?.places[name] ?? [];
  if (at === undefined) return undefined;
  try {
    const data = read(code.fd, code.begin + at, bytes);
    return crc32(data) === sum ? data : undefined;
  } catch {
    return undefined;
  }
}

/** Writes the compiled code of this run, with that of earlier runs for other parts. */
function keepCode() {
  const all = new Map([...scripts].map(([name, script]) => [name, script.createCachedData()]));
  for (const name of Object.keys(code?.places ?? {})) {
    const data = all.has(name) ? undefined : compiledOf(name);
    if (data) all.set(name, data);
  }
  const places = {};
  let at = 0;
  for (const [name, data] of all) {
    places[name] = [at, data.length, crc32(data)];
    at += data.length;
  }
  const index = Buffer.from(JSON.stringify(places));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(index.length);
  const folder = dirname(codeFile);
  const next = `${codeFile}.${process.pid}`;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  try {
    writeFileSync(next, Buffer.concat([length, index, ...all.values()]), { mode: 0o600, flag: "wx" });
    renameSync(next, codeFile);
  } catch (reason) {
    rmSync(next, { force: true });
    throw reason;
  }
  const monthAgo = Date.now() - 30 * 24 * 60 * 60 * 1_000;
  for (const name of readdirSync(folder)) {
    const old = join(folder, name);
    if (name.startsWith("code-") && statSync(old).mtimeMs < monthAgo) rmSync(old, { force: true });
  }
}

process.on("exit", () => {
  if (isComplete || codeFile === undefined) return;
  try {
    keepCode();
  } catch {
    // The next start compiles again.
  }
});

/* parts
 */
await load("./main.cjs").main(self);
