import { stat } from "node:fs/promises";
import { homedir } from "node:os";
import { posix, win32 } from "node:path";
import { checkOptions, type OptionNames } from "portolan/internal";
import type { ConfigScope } from "../../config/configured.ts";
import { type ConfigLocation, type Convention, conventions, type PlaceFolder } from "../../config/conventions.ts";
import { maxParentFolders } from "../../config/limits.ts";

/** A configuration file and its owner. */
export interface ConfigFile {
  readonly file: string;
  /** Default: determined when the file is read. */
  readonly product?: string;
  readonly scope: ConfigScope;
  /** The folder of the project that the file belongs to, or that the user works in. */
  readonly workspaceFolder: string;
  /** Project folders whose servers are read from a user file that has servers per project. */
  readonly projectPath?: readonly string[];
}

/** The folder and machine to search. Default: the working directory and this machine. */
export interface FindOptions extends Partial<Machine> {
  /** The folder whose files are found, with those of the folders above it. Default: the working directory. */
  readonly cwd?: string;
  /** Only files of these products. */
  readonly products?: readonly string[];
  /** Returns the kind of file at a path. Default: asks the file system. */
  readonly look?: (path: string) => Promise<"file" | "folder" | undefined>;
}

const findOptionNames: OptionNames<FindOptions> = { home: 1, platform: 1, env: 1, cwd: 1, products: 1, look: 1 };

/**
 * Finds the configuration files of all known products: managed ones, then those of the project (nearest first), then
 * the user's.
 */
export async function findConfigs(options: FindOptions = {}): Promise<readonly ConfigFile[]> {
  checkOptions(options, findOptionNames, "findConfigs");
  const { platform, home, env } = machineOf(options);
  const { cwd = process.cwd(), products, look = lookAt } = options;
  const folders = await projectFolders(pathsOf(platform).resolve(cwd), home, platform, look);
  const root = folders.at(-1) ?? cwd;
  const users = userFiles({ home, platform, env });
  const found = new Map<string, ConfigFile>();
  const add = async ({ file, convention }: KnownFile, details: Omit<ConfigFile, "file" | "product">) => {
    if (found.has(file) || products?.includes(convention.product) === false) return;
    // A folder, pipe or device is included too: reading it gives an error that explains the problem.
    if (await look(file)) found.set(file, { file, product: convention.product, ...details });
  };
  for (const known of managedFiles({ home, platform, env }))
    await add(known, { scope: "managed", workspaceFolder: root });
  // In the home folder, a user's file can also match the path of a project file.
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

/** Products whose files can be written, by name. */
export const configProducts: readonly string[] = conventions
  .filter(({ describes, places }) => describes === undefined && places.length > 0)
  .map(({ product }) => product);

/**
 * Returns the file that a product reads in a project or for the user: one that exists, otherwise the one to create.
 * Undefined if the product reads no file there.
 */
export async function productFile(
  product: string,
  scope: "project" | "user",
  options: Omit<FindOptions, "products"> = {},
): Promise<string | undefined> {
  const existing = await findConfigs({ ...options, products: [product] });
  const found = existing.find((one) => one.scope === scope);
  if (found) return found.file;
  const machine = machineOf(options);
  const { cwd = process.cwd() } = options;
  const known = scope === "user" ? userFiles(machine) : projectFiles(cwd, machine.platform);
  return known.find(({ convention }) => convention.product === product)?.file;
}

/** Returns this machine with the given details replaced. */
export function machineOf({ home, platform, env }: Partial<Machine>): Machine {
  return { home: home ?? homedir(), platform: platform ?? process.platform, env: env ?? process.env };
}

/**
 * Returns the folder and its parents up to the root of the repository. Without a repository it is only the folder,
 * because a stranger can put a file into a parent such as /tmp.
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
  for (let folder = cwd; folders.length < maxParentFolders; folder = dirname(folder)) {
    if (folders.length > 0 && isHome(folder)) break;
    folders.push(folder);
    if ((await look(join(folder, ".git"))) !== undefined) return folders;
    if (isHome(folder) || dirname(folder) === folder) break;
  }
  return [cwd];
}

async function lookAt(path: string): Promise<"file" | "folder" | undefined> {
  const found = await stat(path).catch(() => undefined);
  return found && (found.isDirectory() ? "folder" : "file");
}

/** The machine whose files are searched. */
export interface Machine {
  readonly home: string;
  readonly platform: string;
  readonly env: { readonly [name: string]: string | undefined };
}

/** The path of a configuration file, which need not exist. */
export interface KnownFile {
  readonly file: string;
  readonly convention: Convention;
}

/** The path functions of one platform, as in `node:path`. */
interface PathFunctions {
  join(...parts: string[]): string;
  dirname(path: string): string;
  basename(path: string): string;
  resolve(...parts: string[]): string;
  relative(from: string, to: string): string;
  isAbsolute(path: string): boolean;
}

/** Returns the path functions of a platform. */
function pathsOf(platform: string): PathFunctions {
  return platform === "win32" ? win32 : posix;
}

/** Returns the paths of user files of all products. */
export function userFiles(machine: Machine): readonly KnownFile[] {
  const roots = rootsOf(machine);
  return knownFiles(machine.platform, ({ folder }) =>
    folder === "project" || folder === "system" ? undefined : roots[folder],
  );
}

/** Returns the paths of files that an administrator makes for all users. */
export function managedFiles(machine: Machine): readonly KnownFile[] {
  const { system } = rootsOf(machine);
  return knownFiles(machine.platform, ({ folder }) => (folder === "system" ? system : undefined));
}

/** Returns the paths of project files of all products. */
function projectFiles(folder: string, platform: string): readonly KnownFile[] {
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
