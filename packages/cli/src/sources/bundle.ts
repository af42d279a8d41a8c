import { createHash, randomUUID } from "node:crypto";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, isAbsolute, join, resolve, sep } from "node:path";
import type { ServerTarget } from "portolan-host";
import type { CommandContext } from "../command.ts";
import { Failure } from "../failure.ts";
import { readRegularFile } from "../regular-file.ts";
import type { System } from "../system.ts";
import { entryNameOf, type FoundServer } from "./found.ts";
import { checkText, finish, hideReferences, type Input, type Values, valuesOf, variableFor } from "./inputs.ts";
import { maxBundleBytes } from "./limits.ts";
import { type Manifest, manifestName, readManifest, type UserOption } from "./manifest.ts";
import { readZip, type ZipFile } from "./zip.ts";

/** A bundle, without its bytes. */
export interface BundleRequest {
  /** Its file or its address. */
  readonly place: string;
  readonly given: ReadonlyMap<string, readonly string[]>;
  /** The name of the entry. Default: the one in the manifest. */
  readonly name: string | undefined;
}

/** Reads the bundle at a path. */
export function readBundleFile(
  { system }: CommandContext,
  path: string,
): { readonly bytes: Buffer; readonly file: string } {
  const file = resolve(system.cwd, path);
  const bytes = readRegularFile(file, maxBundleBytes);
  if (!bytes) throw new Failure("usage", `file not found: ${path}`);
  return { bytes, file };
}

/** The files and the manifest of a bundle. */
export interface OpenBundle {
  readonly files: readonly ZipFile[];
  readonly manifest: Manifest;
  readonly problems: readonly string[];
  readonly sha256: string;
}

/** Opens a bundle, and checks its manifest and that the files which the manifest names are in it. */
export function openBundle(bytes: Buffer): OpenBundle {
  const files = readZip(bytes);
  const manifestFile = files.find(({ path }) => path === manifestName);
  if (!manifestFile) throw new Failure("usage", `the bundle is refused: it has no ${manifestName}`);
  const { manifest, problems } = readManifest(manifestFile.read());
  const known = new Set(files.map(({ path }) => path));
  const missing = missingFiles(manifest, known);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return { files, manifest, sha256, problems: [...problems, ...missing] };
}

/** Returns what a manifest names and the bundle does not have. */
export function missingFiles({ entryPoint, files, serverType }: Manifest, known: ReadonlySet<string>): string[] {
  const plain = (path: string) => path.replace(/^(\.\/)+/, "");
  const named = files.filter((file) => !known.has(plain(file))).map((file) => `${file}: not in the bundle`);
  const hasEntry = known.has(plain(entryPoint)) || (serverType === "binary" && known.has(`${plain(entryPoint)}.exe`));
  return hasEntry ? named : [`server: entry_point: ${entryPoint} is not in the bundle`, ...named];
}

/** Makes a server of the manifest of a bundle, whose files belong into the state folder. Runs nothing. */
export async function fromBundle(
  context: CommandContext,
  bytes: Buffer,
  { place, given, name: chosen }: BundleRequest,
): Promise<FoundServer> {
  const { system, state } = context;
  const { files, manifest, problems, sha256 } = openBundle(bytes);
  const { platforms } = manifest;
  if (platforms && !platforms.includes(system.platform)) {
    throw new Failure("usage", `the bundle is for ${platforms.join(", ")}, not for ${system.platform}`);
  }
  const known = new Set(files.map(({ path }) => path));
  const [noEntry] = missingFiles({ ...manifest, files: [] }, known);
  if (noEntry !== undefined) throw new Failure("usage", `the bundle is refused: ${noEntry}`);
  const name = chosen ?? entryNameOf(manifest.name);
  // The name has the digest, so that another bundle never gets into the folder of a trusted one.
  const folder = join(state.folder, "bundles", `${entryNameOf(manifest.name)}-${sha256.slice(0, digestCharacters)}`);
  const inputs = Object.entries(manifest.userConfig).map(([id, option]) => toInput(id, option, name, system));
  const values = await valuesOf(context, name, inputs, given);
  const target = toTarget(manifest, { folder, values: hideReferences(values), known, system });
  return {
    ...{ name, target },
    unpack: () => unpack(files, folder),
    from: { kind: "bundle", name: manifest.name, version: manifest.version, place, folder, sha256 },
    warnings: problems.map((problem) => `${manifestName}: ${problem}`),
  };
}

/** The length of a digest that two different bundles cannot share. */
const digestCharacters = 32;

function toInput(id: string, option: UserOption, server: string, system: System): Input {
  const { type, title, description, required = false, default: proposed, multiple = false, sensitive = false } = option;
  const list = proposed === undefined ? undefined : [proposed].flat().map(String);
  // Only the places of the person may stand in a default, not variables of the shell.
  const defaults = list?.map((value) => fillText(value, placesOf(system), `the default of ${id}`));
  return {
    ...{ id, isSecret: sensitive, isRequired: required, isList: multiple, variable: variableFor(server, id) },
    description: description === title ? title : `${title}: ${description}`,
    ...(type === "boolean" && { options: ["true", "false"] }),
    ...(defaults && !sensitive && { default: defaults }),
    check: (value) => checkValue(id, option, value, system),
  };
}

function checkValue(id: string, { type, min, max }: UserOption, value: string, { cwd }: System): string {
  if (type === "directory" || type === "file") return value.includes("${") ? value : resolve(cwd, value);
  if (type !== "number") return value;
  const number = value.trim() === "" ? Number.NaN : Number(value);
  const isWithin = number >= (min ?? Number.NEGATIVE_INFINITY) && number <= (max ?? Number.POSITIVE_INFINITY);
  if (isWithin) return value;
  const bounds = [min === undefined ? "" : ` from ${min}`, max === undefined ? "" : ` up to ${max}`].join("");
  throw new Failure("usage", `${id}: expected a number${bounds}, got ${JSON.stringify(value)}`);
}

/** The text for each placeholder of a bundle, by its name. */
type Places = ReadonlyMap<string, string>;

function placesOf({ home }: System): Places {
  return new Map([
    ["HOME", home],
    ...["Desktop", "Documents", "Downloads"].map((name) => [name.toUpperCase(), join(home, name)] as const),
    ["pathSeparator", sep],
    ["/", sep],
  ]);
}

function fillText(text: string, places: Places, where: string): string {
  checkText(text, where);
  return finish(
    text.replace(placeholders, (whole, name: string) => places.get(name) ?? whole),
    where,
  );
}

const placeholders = /\$\{([^{}]{1,256})\}/g;

interface Unpacked {
  readonly folder: string;
  readonly values: Values;
  /** The paths of the files of the bundle. */
  readonly known: ReadonlySet<string>;
  readonly system: System;
}

function toTarget(manifest: Manifest, { folder, values, known, system }: Unpacked): ServerTarget {
  const own = manifest.overrides[system.platform] ?? {};
  const { command, args } = { ...manifest.command, ...own };
  const env = { ...manifest.command.env, ...own.env };
  const places = new Map([...placesOf(system), ["__dirname", folder]]);
  for (const id of Object.keys(manifest.userConfig)) {
    const value = values.get(id);
    if (value === undefined || value.length === 1) places.set(`user_config.${id}`, value?.[0] ?? "");
  }
  /** Returns the values of an argument that is one placeholder: none for an optional input without a value. */
  const whole = (text: string) => {
    const [, id] = /^\$\{user_config\.([^{}]+)\}$/.exec(text) ?? [];
    return id !== undefined && Object.hasOwn(manifest.userConfig, id) ? (values.get(id) ?? []) : undefined;
  };
  const filledArgs = args.flatMap((arg, at) => {
    const where = `argument ${at + 1}`;
    return whole(arg)?.map((value) => finish(value, where)) ?? [fillText(arg, places, where)];
  });
  const filledEnv = Object.entries(env).flatMap(([name, value]) => {
    const list = whole(value);
    if (list?.length === 0) return [];
    const where = `the variable ${name}`;
    const filled = list === undefined ? fillText(value, places, where) : finish(list.join(","), where);
    return [[finish(name, "the name of a variable"), filled] as const];
  });
  const isOwn = (path: string) => known.has(path.replaceAll("\\", "/").replace(/^(\.\/)+/, ""));
  const program = fillText(command, places, "the command");
  // Some bundles name their files by a path from their own folder.
  const isRelative = args.some((arg) => !isAbsolute(arg) && isOwn(arg));
  return {
    command: /[\\/]/.test(program) && !isAbsolute(program) ? join(folder, program) : program,
    args: filledArgs,
    ...(isRelative && { cwd: folder }),
    ...(filledEnv.length > 0 && { env: Object.fromEntries(filledEnv) }),
  };
}

/** Unpacks files into a folder of their own, which appears as a whole. What was there with the same digest is replaced. */
async function unpack(files: readonly ZipFile[], folder: string): Promise<void> {
  const parent = dirname(folder);
  await mkdir(parent, { recursive: true, mode: 0o700 });
  const fresh = join(parent, `.new-${randomUUID()}`);
  try {
    await mkdir(fresh, { mode: 0o700 });
    const made = new Set<string>([fresh]);
    for (const file of files) {
      const path = join(fresh, ...file.path.split("/"));
      if (!made.has(dirname(path))) await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      made.add(dirname(path));
      // "wx" follows no link and replaces nothing, whatever the file system makes of the name.
      await writeFile(path, file.read(), { flag: "wx", mode: file.isExecutable ? 0o700 : 0o600 });
    }
    await rm(folder, { recursive: true, force: true });
    await rename(fresh, folder);
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}
