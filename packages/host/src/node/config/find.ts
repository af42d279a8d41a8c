import { stat } from "node:fs/promises";
import { homedir } from "node:os";
import type { ConfigScope } from "../../config/configured.ts";
import { type KnownFile, type Machine, managedFiles, pathsOf, projectFiles, userFiles } from "./places.ts";

/** A file with servers, and whose it is. */
export interface ConfigFile {
  readonly file: string;
  /** Found out when it is read, unless known. */
  readonly product?: string;
  readonly scope: ConfigScope;
  /** The folder of the project that the file belongs to, or that its user is in. */
  readonly workspaceFolder: string;
  /** Folders whose own servers are wanted from a file that keeps them for many. */
  readonly projectPath?: readonly string[];
}

/** Where files are looked for; this machine and folder unless said. */
export interface FindOptions extends Partial<Machine> {
  readonly cwd?: string;
  /** Only files of these products. */
  readonly products?: readonly string[];
  /** What there is at a path; asked of the file system unless given. */
  readonly look?: (path: string) => Promise<"file" | "folder" | undefined>;
}

/**
 * Every file with servers for this user and that the project around a folder brings along: an administrator's, then the
 * nearest first.
 */
export async function findConfigs(options: FindOptions = {}): Promise<readonly ConfigFile[]> {
  const { platform, home, env } = machineOf(options);
  const { cwd = process.cwd(), products, look = lookAt } = options;
  const folders = await projectFolders(pathsOf(platform).resolve(cwd), home, platform, look);
  const root = folders.at(-1) ?? cwd;
  const users = userFiles({ home, platform, env });
  const found = new Map<string, ConfigFile>();
  const add = async ({ file, convention }: KnownFile, whose: Omit<ConfigFile, "file" | "product">) => {
    if (found.has(file) || products?.includes(convention.product) === false) return;
    // Not only files: what else is there is an error that reading it explains.
    if (await look(file)) found.set(file, { file, product: convention.product, ...whose });
  };
  for (const known of managedFiles({ home, platform, env }))
    await add(known, { scope: "managed", workspaceFolder: root });
  // A user's own file stays that in the home folder too, where it may also look like one of a project.
  const own = new Set(users.map(({ file }) => file));
  for (const folder of folders) {
    for (const known of projectFiles(folder, platform)) {
      if (!own.has(known.file)) await add(known, { scope: "project", workspaceFolder: folder });
    }
  }
  const projectPath = [...new Set([folders[0] ?? cwd, root])];
  for (const known of users) await add(known, { scope: "user", workspaceFolder: root, projectPath });
  return [...found.values()];
}

/** This machine, except for what is said of another. */
export function machineOf({ home, platform, env }: Partial<Machine>): Machine {
  return { home: home ?? homedir(), platform: platform ?? process.platform, env: env ?? process.env };
}

const maxFolders = 64;

/**
 * The folder and those around it up to the root of its repository. Without a repository only the folder itself counts:
 * further up, such as in /tmp, anybody might have left a file.
 */
async function projectFolders(
  cwd: string,
  home: string,
  platform: string,
  look: (path: string) => Promise<"file" | "folder" | undefined>,
): Promise<readonly string[]> {
  const { dirname, join, relative } = pathsOf(platform);
  const isHome = (folder: string) => relative(folder, home) === "";
  const folders: string[] = [];
  for (let folder = cwd; folders.length < maxFolders; folder = dirname(folder)) {
    if (folders.length > 0 && isHome(folder)) break;
    folders.push(folder);
    if ((await look(join(folder, ".git"))) !== undefined) return folders;
    if (isHome(folder) || dirname(folder) === folder) break;
  }
  return [cwd];
}

async function lookAt(path: string): Promise<"file" | "folder" | undefined> {
  const found = await stat(path).catch(() => undefined);
  return found?.isFile() ? "file" : found?.isDirectory() ? "folder" : undefined;
}
