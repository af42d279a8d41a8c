import { constants, open, readdir } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { nameOf, PortolanError } from "../../../errors.ts";
import { checkOptions } from "../../../options.ts";
import { maxSourceBytes, maxSourceFiles } from "../limits.ts";
import { type SkillSnapshot, takeSnapshot } from "../snapshot.ts";
import type { SkillSource } from "../source.ts";

/** Options of `skillsFrom`. */
export interface SkillsFromOptions {
  /** The path before that of each skill, such as "acme/billing". Default: none. */
  readonly prefix?: string;
}

/** The skills of a folder, as they were when it was read. */
export interface FolderSkills extends SkillSource {
  /**
   * Reads the folder again and serves what it has now. Clients are told that the resources changed. Rejects if a skill is
   * invalid: then the skills of before are served.
   */
  reload(): Promise<void>;
}

/**
 * Reads a folder whose folders are skills, or that is itself a skill, once and into memory. Names that begin with a dot are
 * left out. Rejects with "invalid-definition" if a skill is invalid.
 */
export async function skillsFrom(folder: string | URL, options: SkillsFromOptions = {}): Promise<FolderSkills> {
  checkOptions(options, { prefix: 1 }, "skillsFrom");
  if (typeof folder !== "string" && !(folder instanceof URL)) {
    throw new PortolanError("invalid-argument", `skillsFrom: expected the path of a folder, got ${nameOf(folder)}`);
  }
  const path = resolve(typeof folder === "string" ? folder : fileURLToPath(folder));
  const watchers: (() => void)[] = [];
  let snapshot = await readFolder(path, options.prefix);
  let reloading: Promise<void> = Promise.resolve();
  return {
    list: (cursor) => snapshot.list(cursor),
    get: (uri) => snapshot.get(uri),
    read: (uri) => snapshot.read(uri),
    directory: (uri) => snapshot.directory(uri),
    watch: (changed) => watchers.push(changed),
    reload() {
      // One after the other, so that the last call reads last.
      const reload = async () => {
        snapshot = await readFolder(path, options.prefix);
        for (const changed of watchers) changed();
      };
      reloading = reloading.then(reload, reload);
      return reloading;
    },
  };
}

async function readFolder(path: string, prefix: string | undefined): Promise<SkillSnapshot> {
  const files = new Map<string, Uint8Array>();
  const folders: string[] = [];
  let bytes = 0;
  const read = async (below: string): Promise<void> => {
    const entries = await readdir(join(path, below), { withFileTypes: true });
    for (const entry of entries) {
      if (entry.name.startsWith(".")) continue;
      const name = below === "" ? entry.name : `${below}/${entry.name}`;
      if (entry.isSymbolicLink()) throw invalid(`${name} is a symbolic link; put the file itself there`);
      if (entry.isDirectory()) {
        folders.push(name);
        await read(name);
      } else if (entry.isFile()) {
        const content = await readFile(join(path, name), maxSourceBytes - bytes);
        bytes += content.length;
        files.set(name, content);
      } else throw invalid(`${name} is neither a file nor a folder`);
      if (files.size + folders.length > maxSourceFiles) throw tooLarge(path);
    }
  };
  await read("");
  // The folder of one skill is served as a folder that has this one skill.
  const isSkill = files.has("SKILL.md");
  const own = `${basename(path)}/`;
  const all = isSkill ? new Map([...files].map(([name, content]) => [own + name, content])) : files;
  return takeSnapshot(`skillsFrom("${path}")`, all, isSkill ? folders.map((name) => own + name) : folders, prefix);
}

/** Reads a file, which may grow meanwhile. */
async function readFile(path: string, maxBytes: number): Promise<Uint8Array> {
  // A link that has just taken the place of the file must not lead out of the folder. Windows has no such flag.
  const file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
  try {
    const { size } = await file.stat();
    if (size > maxBytes) throw tooLarge(path);
    const content = new Uint8Array(size);
    let at = 0;
    while (at < size) {
      const { bytesRead } = await file.read(content, at, size - at, at);
      if (bytesRead === 0) break;
      at += bytesRead;
    }
    return content.subarray(0, at);
  } finally {
    await file.close();
  }
}

function tooLarge(path: string): PortolanError {
  const why = `expected at most ${maxSourceFiles} files and folders with ${maxSourceBytes} bytes together`;
  return new PortolanError("limit-reached", `skillsFrom: ${path}: ${why}`);
}

function invalid(why: string): PortolanError {
  return new PortolanError("invalid-definition", `skillsFrom: ${why}`);
}
