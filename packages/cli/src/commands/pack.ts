import { createHash } from "node:crypto";
import { existsSync, statSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { againWith, textFlag } from "../arguments/flags.ts";
import type { CommandContext, CommandResult, Flags } from "../command.ts";
import { Failure } from "../failure.ts";
import { readRegularFile } from "../regular-file.ts";
import { missingFiles, openBundle, readBundleFile } from "../sources/bundle.ts";
import { entryNameOf } from "../sources/found.ts";
import { maxBundleBytes } from "../sources/limits.ts";
import { type Manifest, manifestName, readManifest } from "../sources/manifest.ts";
import { type LeftOut, readFolder } from "../sources/pack.ts";
import { readZip, writeZip } from "../sources/zip.ts";
import { quote } from "../terminal/escape.ts";
import type { Screen } from "../terminal/screen.ts";

/** Makes a bundle of a folder, or checks one that exists. The same files always make the same bundle. */
export async function run(
  context: CommandContext,
  [given = "."]: readonly string[],
  flags: Flags,
): Promise<CommandResult> {
  const { cwd } = context.system;
  const path = resolve(cwd, given);
  if (!existsSync(path)) throw new Failure("usage", `not found: ${given}`);
  if (!statSync(path).isDirectory()) return check(context, given, flags);
  const manifestBytes = readRegularFile(join(path, manifestName), maxBundleBytes);
  if (!manifestBytes) throw new Failure("usage", `${given} has no ${manifestName}, which tells how the server starts`);
  const { manifest, problems: mistakes } = readManifest(manifestBytes);
  const { files, leftOut } = readFolder(path);
  const known = new Set(files.map((file) => file.path));
  const problems = [...mistakes, ...missingFiles(manifest, known)];
  if (problems.length > 0) throw new Failure("usage", `nothing was written: ${problems.join("; ")}`);
  const bytes = writeZip(files);
  // The written bundle must be one that `add` reads, within all its limits.
  readZip(bytes);
  if (bytes.length > maxBundleBytes) {
    throw new Failure("usage", `the bundle would have ${bytes.length} bytes; at most ${maxBundleBytes} are read`);
  }
  const name = `${entryNameOf(manifest.name)}-${entryNameOf(manifest.version)}.mcpb`;
  const file = resolve(cwd, textFlag(flags, "out") ?? name);
  await write(context, file, bytes, flags["force"] === true);
  return toResult(context, {
    file,
    bytes,
    manifest,
    files: files.map((each) => [each.path, each.bytes.length]),
    leftOut,
  });
}

async function write(context: CommandContext, file: string, bytes: Buffer, isForced: boolean): Promise<void> {
  const before = readRegularFile(file, maxBundleBytes);
  if (before?.equals(bytes)) return;
  if (before && !isForced) {
    throw new Failure("usage", `${file} exists and is another bundle; --force replaces it`, {
      next: againWith(context.system, "--force"),
    });
  }
  await writeFile(file, bytes);
}

/** Checks a bundle as `add` does, and unpacks all of it in memory, one file at a time. */
function check(context: CommandContext, given: string, flags: Flags): CommandResult {
  const flag = flags["out"] !== undefined ? "--out" : flags["force"] === true ? "--force" : undefined;
  if (flag !== undefined) throw new Failure("usage", `${flag} is for a folder; ${given} is a bundle already`);
  const { bytes, file } = readBundleFile(context, given);
  const { files, manifest, problems } = openBundle(bytes);
  for (const each of files) each.read();
  const result = toResult(context, {
    ...{ file, bytes, manifest, leftOut: [] },
    files: files.map((each) => [each.path, each.size]),
  });
  if (problems.length === 0) return result;
  return { ...result, failure: new Failure("failed", `${given} has mistakes: ${problems.join("; ")}`) };
}

interface Packed {
  readonly file: string;
  readonly bytes: Buffer;
  readonly manifest: Manifest;
  readonly files: readonly (readonly [path: string, bytes: number])[];
  readonly leftOut: readonly LeftOut[];
}

/** Lines of files that are shown to a person. A program gets all of them. */
const maxShownFiles = 40;

function toResult({ screen, system }: CommandContext, packed: Packed): CommandResult {
  const { file, bytes, manifest, files, leftOut } = packed;
  const unpackedBytes = files.reduce((sum, [, size]) => sum + size, 0);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const near = relative(system.cwd, file);
  const next = `portolan add ${quote(near.startsWith("..") ? file : `./${near}`)}`;
  const { name, version } = manifest;
  return {
    value: {
      ...{ file, name, version, manifestVersion: manifest.manifestVersion, bytes: bytes.length, unpackedBytes, sha256 },
      files: files.map(([path, size]) => ({ path, bytes: size })),
      ...(leftOut.length > 0 && { leftOut }),
      next,
    },
    text() {
      const shown = files.slice(0, maxShownFiles).map(([path, size]) => [screen.safe(path), sizeText(size)]);
      const more = files.length - shown.length;
      const sizes = `${sizeText(bytes.length)}, unpacked ${sizeText(unpackedBytes)}, ${files.length} files`;
      return [
        `${screen.style("green", screen.mark("ok"))} ${screen.safe(`${name} ${version}`)} ${screen.style("dim", screen.safe(file))}`,
        screen.table(shown),
        ...(more > 0 ? [`  ${screen.style("dim", `${screen.mark("more")} ${more} more files`)}`] : []),
        `  ${sizes}`,
        `  SHA-256 ${sha256}`,
        ...leftOutLines(leftOut, screen),
        `  ${screen.mark("next")} ${screen.step(next)}`,
      ].join("\n");
    },
  };
}

function leftOutLines(leftOut: readonly LeftOut[], screen: Screen): string[] {
  return [...new Set(leftOut.map(({ why }) => why))].map((why) => {
    const paths = leftOut.filter((each) => each.why === why).map(({ path }) => path);
    const listed = paths.slice(0, maxShownFiles).join(", ");
    const more = paths.length > maxShownFiles ? `, and ${paths.length - maxShownFiles} more` : "";
    const line = `left out (${why}): ${screen.safe(listed)}${more}`;
    // Without them the server may not start, or a secret was near to getting out.
    return why === "junk" || why === "ignored" ? `  ${screen.style("dim", line)}` : `${screen.mark("warn")} ${line}`;
  });
}

function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const kibibytes = bytes / 1024;
  return kibibytes < 1024 ? `${kibibytes.toFixed(1)} KiB` : `${(kibibytes / 1024).toFixed(1)} MiB`;
}
