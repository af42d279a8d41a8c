import { posix, win32 } from "node:path";
import { type ConfigLocation, type Convention, conventions, type PlaceFolder } from "../../config/conventions.ts";

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
