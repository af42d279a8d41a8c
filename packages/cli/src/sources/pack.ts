import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "../failure.ts";
import { readRegularFile } from "../regular-file.ts";
import { maxBundleBytes, maxBundleFiles, maxIgnoreBytes, maxUnpackedBytes } from "./limits.ts";
import type { PackedFile } from "./zip.ts";

/** A file or folder that does not belong into a bundle. */
export interface LeftOut {
  readonly path: string;
  readonly why: "secret" | "junk" | "link" | "ignored";
}

/** The files of a folder that belong into a bundle, and those that do not. */
export interface FolderContent {
  readonly files: readonly PackedFile[];
  readonly leftOut: readonly LeftOut[];
}

/** Names that hold secrets, wherever they are. */
const secretNames = [
  /^\.env($|\.)/,
  /^\.(git|hg|svn|ssh|aws|gnupg|netrc|npmrc|yarnrc|yarnrc\.yml|pypirc|git-credentials|docker)$/,
  /^id_(rsa|dsa|ecdsa|ed25519)$/,
  /^credentials(\.json)?$/,
];
/** Forms of keys. Packages have certificates of this form, which are no secrets. */
const keyNames = /\.(pem|key|p12|pfx|jks|keystore)$/i;

const junkNames = [
  /^(\.DS_Store|Thumbs\.db|desktop\.ini|__pycache__|\.pytest_cache|\.mypy_cache|\.ruff_cache|\.nyc_output|coverage)$/,
  /^\.(mcpbignore|gitignore|gitattributes|npmignore|npm|yarn|vscode|idea|editorconfig|nycrc|eslintcache)$/,
  /\.(log|mcpb|dxt|tsbuildinfo|pyc|swp|map)$/,
  /^(package-lock\.json|yarn\.lock|pnpm-lock\.yaml|tsconfig\.json)$/,
  /\.d\.[mc]?ts$/,
  /~$/,
];

function whyLeftOut(name: string, path: string): LeftOut["why"] | undefined {
  if (secretNames.some((pattern) => pattern.test(name))) return "secret";
  if (keyNames.test(name) && !path.includes("node_modules/")) return "secret";
  if (junkNames.some((pattern) => pattern.test(name))) return "junk";
  return /(^|\/)node_modules\/\.(bin|cache|package-lock\.json)$/.test(path) ? "junk" : undefined;
}

/** Reads the files of a folder for a bundle. Secrets, links and what only its author needs are left out. */
export function readFolder(folder: string): FolderContent {
  const files: PackedFile[] = [];
  const leftOut: LeftOut[] = [];
  const ignored = readIgnored(folder);
  let bytes = 0;
  const read = (inside: string): void => {
    for (const entry of readdirSync(join(folder, inside), { withFileTypes: true })) {
      const path = inside === "" ? entry.name : `${inside}/${entry.name}`;
      const why = whyLeftOut(entry.name, path) ?? (ignored(path, entry.isDirectory()) ? "ignored" : undefined);
      if (why !== undefined) leftOut.push({ path, why });
      else if (entry.isDirectory()) read(path);
      // The target of a link may be outside of the folder.
      else if (!entry.isFile()) leftOut.push({ path, why: "link" });
      else {
        const file = join(folder, path);
        const content = readRegularFile(file, maxBundleBytes) ?? Buffer.alloc(0);
        files.push({ path, bytes: content, isExecutable: (lstatSync(file).mode & 0o111) !== 0 });
        bytes += content.length;
        if (files.length > maxBundleFiles)
          throw new Failure("usage", `expected at most ${maxBundleFiles} files, got more`);
        if (bytes > maxUnpackedBytes)
          throw new Failure("usage", `expected at most ${maxUnpackedBytes} bytes, got more`);
      }
    }
  };
  read("");
  return { files, leftOut: leftOut.toSorted((a, b) => (a.path < b.path ? -1 : 1)) };
}

/** Returns the rules of `.mcpbignore`: a name, a path from the folder, `*`, `**` and `?`, one in each line. */
function readIgnored(folder: string): (path: string, isFolder: boolean) => boolean {
  const text = readRegularFile(join(folder, ".mcpbignore"), maxIgnoreBytes)?.toString("utf8") ?? "";
  const rules = text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map(toRule);
  return (path, isFolder) => rules.some((rule) => (isFolder || !rule.isForFolders) && rule.pattern.test(path));
}

function toRule(line: string): { readonly pattern: RegExp; readonly isForFolders: boolean } {
  if (line.startsWith("!")) throw new Failure("usage", `.mcpbignore: a rule cannot begin with "!": ${line}`);
  const plain = line.replace(/\/+$/, "");
  const isAnchored = plain.includes("/");
  const parts = plain.replace(/^\/+/, "").split(/(\*\*\/?|\*|\?)/);
  const body = parts.map((part) => {
    if (part.startsWith("**")) return part.endsWith("/") ? "(?:[^/]+/)*" : ".*";
    if (part === "*") return "[^/]*";
    return part === "?" ? "[^/]" : part.replace(/[.+^${}()|[\]\\]/g, "\\$&");
  });
  return { pattern: new RegExp(`${isAnchored ? "^" : "(?:^|/)"}${body.join("")}$`), isForFolders: line.endsWith("/") };
}
