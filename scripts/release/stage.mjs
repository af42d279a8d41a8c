// Makes the tarballs: copies each package, fills its manifest in from release.json, and packs the copy.
import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, posix } from "node:path";
import { promisify } from "node:util";
import { readCommandOptions } from "./command-options.mjs";
import { toServerJson } from "./server-json.mjs";

/**
 * Stages the packages in a folder, which is emptied. Returns them with their new manifest, the tarball, what npm packed,
 * and for servers the options of their program and the path of their server.json, or the reason (`failure`) why it cannot
 * be made. Without a namespace there is no server.json.
 */
export async function stage(packages, { out, values }) {
  rmSync(out, { recursive: true, force: true });
  const staged = [];
  for (const one of packages) staged.push(await copy(one, join(out, one.name), values));
  const folders = staged.map(({ folder }) => folder);
  const { stdout } = await promisify(execFile)("npm", ["pack", "--json", "--ignore-scripts", ...folders], {
    cwd: out,
    maxBuffer: 64 * 1024 * 1024,
  });
  const packed = new Map(toList(JSON.parse(stdout)).map((result) => [result.name, result]));
  return staged.map((one) => {
    const result = packed.get(one.name);
    return { ...one, packed: result, tarball: join(out, result.filename) };
  });
}

/** npm 11 prints a list, later ones an object by name. */
function toList(packed) {
  return Array.isArray(packed) ? packed : Object.values(packed);
}

async function copy(one, out, values) {
  const folder = join(out, "package");
  mkdirSync(folder, { recursive: true });
  const manifest = toPublishedManifest(one, values);
  writeJson(join(folder, "package.json"), manifest);
  for (const part of ["dist", "LICENSE"].filter((name) => existsSync(join(one.folder, name)))) {
    cpSync(join(one.folder, part), join(folder, part), { recursive: true });
  }
  removeInnerDeclarations(folder, manifest);
  const readme = join(one.folder, "README.md");
  if (existsSync(readme)) {
    writeFileSync(join(folder, "README.md"), withWholeLinks(readFileSync(readme, "utf8"), one.directory, values));
  }
  const staged = { ...one, folder, manifest };
  if (!one.isServer) return staged;
  try {
    // The program is read where its dependencies are found.
    const command = await readCommandOptions(join(one.folder, Object.values(manifest.bin)[0]));
    if (manifest.mcpName === undefined) return { ...staged, command };
    const serverJson = join(out, "server.json");
    writeJson(serverJson, toServerJson(staged, values, command));
    return { ...staged, command, serverJson };
  } catch (error) {
    return { ...staged, failure: `its command line cannot be read: ${error.message}` };
  }
}

/**
 * Removes the declarations that no entry of the package reaches. Nobody can import them, and they may name the code that
 * the reference servers share, which is bundled into each of them and never published.
 */
function removeInnerDeclarations(folder, { exports = {} }) {
  const reached = new Set();
  const visit = (path) => {
    if (reached.has(path) || !existsSync(join(folder, path))) return;
    reached.add(path);
    const code = readFileSync(join(folder, path), "utf8");
    for (const [, specifier] of code.matchAll(/(?:\bfrom |\bimport[ (])"(\.[^"]+)"/g)) {
      visit(posix.join(posix.dirname(path), specifier.replace(/(?:\.d)?\.[jt]s$/, ".d.ts")));
    }
  };
  for (const entry of Object.values(exports)) if (entry.types !== undefined) visit(posix.normalize(entry.types));
  for (const file of readdirSync(folder, { recursive: true })) {
    const path = file.replaceAll("\\", "/");
    if (path.endsWith(".d.ts") && !reached.has(path)) rmSync(join(folder, path));
  }
}

function toPublishedManifest({ manifest, directory, isServer }, { repository, homepage, bugs, author, mcpNamespace }) {
  const { devDependencies, scripts, ...published } = manifest;
  return {
    ...published,
    ...(author !== undefined && { author }),
    ...(homepage !== undefined && { homepage }),
    ...(bugs !== undefined && { bugs: { url: bugs } }),
    ...(repository !== undefined && { repository: { type: "git", url: toGitAddress(repository), directory } }),
    ...(isServer && mcpNamespace !== undefined && { mcpName: `${mcpNamespace}/${manifest.name}` }),
  };
}

/** npm warns about an address of another form, and changes it. */
function toGitAddress(repository) {
  return `git+${repository.replace(/\/$/, "").replace(/(?<!\.git)$/, ".git")}`;
}

/** Makes links to other files of the repository work where the package is shown without it. */
function withWholeLinks(text, directory, { repository }) {
  if (repository === undefined) return text;
  const base = `${repository.replace(/\/$/, "").replace(/\.git$/, "")}/blob/HEAD`;
  return text.replaceAll(/\]\((?![a-z]+:|#)([^)\s]+)\)/g, (_, target) => {
    return `](${base}/${posix.join(directory, target)})`;
  });
}

function writeJson(file, value) {
  writeFileSync(file, `${JSON.stringify(value, undefined, 2)}\n`);
}
