import { stat } from "node:fs/promises";
import { homedir } from "node:os";
import { posix, win32 } from "node:path";
import type { ConfigScope } from "../../config/configured.ts";
import { type ConfigLocation, type Convention, conventions, type PlaceFolder } from "../../config/conventions.ts";

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

/** The machine that files are looked for on. */
export interface Machine {
  readonly home: string;
  readonly platform: string;
  readonly env: { readonly [name: string]: string | undefined };
}

/** A file where a product keeps its servers, whether it is there or not. */
export interface KnownFile {
  readonly file: string;
  readonly convention: Convention;
}

/** The functions for paths of one system, as `node:path` has them. */
export interface PathFunctions {
  join(...parts: string[]): string;
  dirname(path: string): string;
  basename(path: string): string;
  resolve(...parts: string[]): string;
  relative(from: string, to: string): string;
  isAbsolute(path: string): boolean;
}

/** Returns the functions for paths of a platform. */
export function pathsOf(platform: string): PathFunctions {
  return platform === "win32" ? win32 : posix;
}

/** Where each product keeps the files of a user. */
export function userFiles(machine: Machine): readonly KnownFile[] {
  const roots = rootsOf(machine);
  return knownFiles(machine.platform, ({ folder }) =>
    folder === "project" || folder === "system" ? undefined : roots[folder],
  );
}

/** Where each product keeps what an administrator has decided for all users. */
export function managedFiles(machine: Machine): readonly KnownFile[] {
  const { system } = rootsOf(machine);
  return knownFiles(machine.platform, ({ folder }) => (folder === "system" ? system : undefined));
}

/** Where each product keeps the files of a project. */
export function projectFiles(folder: string, platform: string): readonly KnownFile[] {
  return knownFiles(platform, (place) => (place.folder === "project" ? folder : undefined));
}

function knownFiles(platform: string, rootOf: (place: ConfigLocation) => string | undefined): readonly KnownFile[] {
  const { join } = pathsOf(platform);
  return conventions.flatMap((convention) =>
    convention.places.flatMap((place) => {
      const root = place.platforms?.includes(platform) === false ? undefined : rootOf(place);
      return root === undefined ? [] : [{ file: join(root, ...place.path.split("/")), convention }];
    }),
  );
}

function rootsOf({ home, platform, env }: Machine): { readonly [folder in Exclude<PlaceFolder, "project">]: string } {
  const { join, isAbsolute } = pathsOf(platform);
  const given = (name: string) => (env[name] && isAbsolute(env[name]) ? env[name] : undefined);
  const xdg = given("XDG_CONFIG_HOME") ?? join(home, ".config");
  const windows = given("APPDATA") ?? join(home, "AppData", "Roaming");
  const appData =
    platform === "win32" ? windows : platform === "darwin" ? join(home, "Library", "Application Support") : xdg;
  const programs = given("ProgramFiles") ?? "C:\\Program Files";
  const system = platform === "win32" ? programs : platform === "darwin" ? "/Library/Application Support" : "/etc";
  return { home, xdg, appData, system };
}
