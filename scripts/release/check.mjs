// Checks the staged packages as they would be published.
import { readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { dependenciesOf } from "./packages.mjs";
import { problemsOfServerJson } from "./server-json-rules.mjs";

/** Returns one line for each problem of the packages, with the name of its package. */
export async function problemsOfPackages(staged) {
  const found = [];
  for (const one of staged) {
    for (const check of [
      problemsOfContent,
      problemsOfManifest,
      problemsOfImports,
      problemsOfServer,
      problemsOfEntries,
      problemsOfTypes,
    ]) {
      found.push(...(await problemsOf(check, one, staged)).map((problem) => `${one.name}: ${problem}`));
    }
  }
  return found;
}

/** Returns the problems that a check finds. A check that fails is one: the others go on. */
async function problemsOf(check, one, staged) {
  try {
    return await check(one, staged);
  } catch (error) {
    return [`${check.name} failed: ${error.message}`];
  }
}

/** Returns what is missing in the changelog. */
export function problemsOfChangelog(text, version) {
  const headings = [...text.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading);
  if (headings.some((heading) => heading.split(" ").includes(version))) return [];
  return [`CHANGELOG.md has no section for ${version}; rename its section "${headings[0]}" to "${version}"`];
}

function problemsOfContent({ packed, folder }) {
  const files = packed.files.map(({ path }) => path);
  const missing = ["README.md", "LICENSE", "package.json"].filter((name) => !files.includes(name));
  if (!files.some((path) => path.startsWith("dist/"))) missing.push("dist");
  const foreign = files.filter((path) => /\.tsbuildinfo$|\.test\.|^src\/|(^|\/)(node_modules|\.env)(\/|$)/.test(path));
  const lost = files
    .filter((path) => path.endsWith(".map"))
    .filter((path) => {
      const { sources = [], sourcesContent } = JSON.parse(readFileSync(join(folder, path), "utf8"));
      return !sourcesContent && sources.some((source) => !files.includes(posix.join(dirname(path), source)));
    });
  return [
    ...missing.map((path) => `${path} is missing in the tarball`),
    ...foreign.map((path) => `${path} does not belong in the tarball`),
    ...lost.map((path) => `${path} refers to sources that are not in the tarball`),
  ];
}

function problemsOfManifest({ manifest }, staged) {
  const [
    {
      manifest: { version },
    },
  ] = staged;
  const problems = ["description", "license", "keywords", "engines", "files", "exports"]
    .filter((member) => manifest[member] === undefined || manifest[member].length === 0)
    .map((member) => `package.json has no ${member}`);
  if (manifest.version !== version) problems.push(`its version is ${manifest.version}, that of others is ${version}`);
  const own = new Set(staged.map(({ name }) => name));
  for (const [name, range] of Object.entries(dependenciesOf(manifest))) {
    if (own.has(name) ? range !== version : !/^[~^]?\d+\.\d+\.\d+$/.test(range)) {
      problems.push(`its dependency ${name} is ${range}; expected ${own.has(name) ? version : "a version"}`);
    }
  }
  return problems;
}

/** Returns the packages that its files import although they would not be installed with it. */
function problemsOfImports({ manifest, packed, folder }) {
  const needed = dependenciesOf(manifest);
  const isKnown = (name) => name === manifest.name || Object.hasOwn(needed, name) || name.startsWith("node:");
  const problems = new Set();
  for (const { path } of packed.files) {
    // The command is a bundle, and its vendored part loads by path.
    if (!/\.(js|d\.ts)$/.test(path) || path.startsWith("dist/cli/")) continue;
    const code = readFileSync(join(folder, path), "utf8").replaceAll(/^\s*(\/\/|\/?\*).*$/gm, "");
    for (const [, specifier] of code.matchAll(/(?:\bfrom |\bimport[ (])"([^"./#$][^"]*)"/g)) {
      const name = specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
      if (!isKnown(name)) problems.add(`${path} imports ${specifier}, which is no dependency`);
    }
  }
  return [...problems];
}

function problemsOfServer({ isServer, manifest, command, failure, serverJson }) {
  if (!isServer) return [];
  if (failure !== undefined) return [failure];
  const problems = [];
  if (!Object.hasOwn(manifest.bin ?? {}, manifest.name)) problems.push(`package.json has no bin ${manifest.name}`);
  if (command.version !== manifest.version) problems.push(`its program says that its version is ${command.version}`);
  if (serverJson === undefined) return problems;
  const entry = JSON.parse(readFileSync(serverJson, "utf8"));
  // The registry compares them, as a proof that the package belongs to the entry.
  if (entry.name !== manifest.mcpName) problems.push(`server.json is called ${entry.name}, not ${manifest.mcpName}`);
  return [...problems, ...problemsOfServerJson(entry).map((problem) => `server.json: ${problem}`)];
}

/** Returns what publint says about the entries of the package. */
async function problemsOfEntries({ tarball }) {
  const content = readFileSync(tarball);
  const { messages, pkg } = await publint({
    pack: { tarball: content.buffer.slice(content.byteOffset, content.byteOffset + content.byteLength) },
    strict: true,
  });
  return messages.map((message) => `publint: ${formatMessage(message, pkg, { color: false })}`);
}

/** Returns the entries whose types do not resolve for ES modules. There is no second build for `require()`. */
async function problemsOfTypes({ tarball }) {
  const { types, problems = [] } = await checkPackage(createPackageFromTarballData(readFileSync(tarball)));
  if (types === false) return ["types: there are none"];
  return problems
    .filter(({ resolutionKind, resolutionOption }) => !isOld(resolutionKind) && !isOld(resolutionOption))
    .map(({ kind, entrypoint, resolutionKind, fileName }) => {
      return `types: ${kind} (${[entrypoint, resolutionKind, fileName].filter(Boolean).join(", ")})`;
    });
}

/** Resolutions that know no `exports`, or no `require()` of ES modules, which Node has since 20.19. */
function isOld(resolution) {
  return resolution === "node10" || resolution === "node16-cjs";
}
