// Builds what is published: TypeScript checks it and writes the declarations, rolldown writes few files that load fast.
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "rolldown";
import { rememberBuild } from "./build-stamp.mjs";
import { bundleCommand } from "./bundle-command.mjs";
import { swapIn } from "./swap-in.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const library = join(root, "packages/portolan");
const host = join(root, "packages/host");
const page = join(root, "packages/console/tsconfig.app.json");
/** Packages that stand on the library. */
const others = ["packages/host", "packages/authority", ...foldersIn("packages/servers")]
  .map((folder) => join(root, folder))
  .filter((folder) => existsSync(join(folder, "package.json")));

/**
 * Builds the library and the packages that stand on it. Returns the reason if one cannot be built.
 * @param {(step: string) => void} [onStep] called with what is done next
 */
export async function buildLibrary(onStep = () => {}) {
  onStep("checking types");
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  const child = spawn(process.execPath, [compiler, "-b", library, join(root, "packages/cli"), page, ...others], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let problems = "";
  child.stdout.setEncoding("utf8").on("data", (text) => {
    problems += text;
  });
  const [status] = await once(child, "close");
  if (status !== 0) return problems;
  onStep("bundling the library and the command");
  await bundleLibrary();
  await bundleCommand(root, library, host);
  onStep("bundling the host and the servers");
  for (const folder of others) {
    await bundle(folder);
    inlineKitDeclarations(folder);
  }
  for (const folder of [library, ...others]) makeExecutable(folder);
  rememberBuild();
  return undefined;
}

/**
 * Makes the commands of a package executable, and links them for npx. npm does both when it installs a package, but not for
 * files that do not exist yet, and a clone is installed before it is built.
 */
function makeExecutable(folder) {
  const { bin = {} } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  for (const [command, path] of Object.entries(bin)) {
    const file = join(folder, path);
    chmodSync(file, 0o755);
    const link = join(root, "node_modules/.bin", command);
    if (process.platform === "win32" || existsSync(link)) continue;
    // A link to a file that was removed.
    rmSync(link, { force: true });
    symlinkSync(relative(dirname(link), file), link);
  }
}

async function bundleLibrary() {
  const input = entries(library);
  const core = staticallyImported(join(library, "src/server/index.ts"), join(library, "src/server/stdio.ts"));
  const clientHttp = staticallyImported(join(library, "src/client/http/link.ts"));
  const serverHttp = staticallyImported(join(library, "src/server/http/serve-http.ts"));
  for (const entry of Object.values(input)) {
    core.delete(entry);
    clientHttp.delete(entry);
    serverHttp.delete(entry);
  }
  const write = (next) =>
    build({
      input,
      platform: "neutral",
      // Imports that begin with # are chosen by whoever loads or bundles the package: see `imports` in its manifest.
      external: [/^node:/, /^#/, "jose", "oauth4webapi", "@opentelemetry/api"],
      preserveEntrySignatures: "allow-extension",
      // Named limits cost no bytes.
      optimization: { inlineConst: { mode: "all" } },
      output: {
        dir: next,
        format: "esm",
        chunkFileNames: "chunks/[name]-[hash].js",
        // Node pays for each file: what every server needs is one.
        codeSplitting: {
          includeDependenciesRecursively: false,
          groups: [
            { name: "core", test: (id) => core.has(id) },
            // Late parts need these too: in an entry, they would add names to what the entry exports.
            { name: "client-http", test: (id) => clientHttp.has(id) && id.includes("/client/http/") },
            { name: "server-http", test: (id) => serverHttp.has(id) && id.includes("/server/http/") },
          ],
        },
      },
      logLevel: "warn",
    });
  await replaceBuilt(library, write);
}

async function bundle(folder) {
  const write = (next) =>
    build({
      input: entries(folder),
      platform: "node",
      // The shared code of the reference servers is never published, so each server contains it.
      external: /^(?!portolan-server-kit(?:\/|$))[^./]/,
      output: { dir: next, format: "esm", chunkFileNames: "chunks/[name]-[hash].js" },
      plugins: [withoutBareImports],
      logLevel: "warn",
    });
  await replaceBuilt(folder, write);
}

/**
 * Copies the declarations of the kit that those of a package refer to into its `dist/kit`, and lets them refer to these
 * copies: the kit is never published.
 */
function inlineKitDeclarations(folder) {
  const dist = join(folder, "dist");
  const kit = join(root, "packages/server-kit");
  const { exports } = JSON.parse(readFileSync(join(kit, "package.json"), "utf8"));
  const isCopied = new Set();
  const copy = (path) => {
    if (isCopied.has(path)) return;
    isCopied.add(path);
    const text = readFileSync(join(kit, "dist", `${path}.d.ts`), "utf8");
    mkdirSync(dirname(join(dist, "kit", path)), { recursive: true });
    writeFileSync(join(dist, "kit", `${path}.d.ts`), text);
    for (const [, target] of text.matchAll(/from "(\.[^"]+)\.ts"/g)) copy(join(dirname(path), target));
  };
  for (const file of readdirSync(dist, { recursive: true })) {
    if (!file.endsWith(".d.ts") || file.startsWith("kit/")) continue;
    const toCopy = relative(dirname(join(dist, file)), join(dist, "kit")).replace(/^(?!\.)/, "./");
    const text = readFileSync(join(dist, file), "utf8");
    const ownText = text.replace(/"portolan-server-kit((?:\/[\w/-]+)?)"/g, (_, entry) => {
      const path = exports[`.${entry}`].types.match(/^\.\/dist\/(.+)\.d\.ts$/)[1];
      return `"${toCopy}/${path}.ts"`;
    });
    for (const [, path] of ownText.matchAll(/"(?:\.\.?\/)+kit\/([^"]+)\.ts"/g)) copy(path);
    if (ownText !== text) writeFileSync(join(dist, file), ownText);
  }
}

/** Our packages have no side effects, and other bundlers warn of an import that names nothing. */
const withoutBareImports = {
  name: "without-bare-imports",
  generateBundle(_, files) {
    for (const file of Object.values(files)) {
      if (file.type === "chunk") file.code = file.code.replace(/^import "\.[^"]+";\n/gm, "");
    }
  },
};

function foldersIn(folder) {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder)).map((name) => `${folder}/${name}`);
}

/**
 * Replaces the programs in the `dist` folder of a package. Earlier ones go, except the command, which is built by itself, and
 * declarations whose source is gone.
 */
async function replaceBuilt(folder, write) {
  const isStale = (file) => {
    const source = file.match(/^(.+)\.d\.ts$/)?.[1];
    // Those of the kit are copied again below.
    if (source !== undefined) return !existsSync(join(folder, "src", `${source}.ts`));
    return file.endsWith(".js") && !file.startsWith("cli/");
  };
  const order = (file) => Number(!file.startsWith("chunks/"));
  await swapIn(join(folder, "dist"), { root, order, isStale }, write);
}

/** The source of each file that the manifest of a package names, by the path of the built file in `dist`. */
function entries(folder) {
  const { exports, imports = {}, bin = {} } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const named = [...Object.values(exports), ...Object.values(imports)].flatMap((entry) => [entry.node, entry.default]);
  const files = [...named, ...Object.values(bin)].filter((file) => !file?.startsWith("./dist/cli/"));
  const names = files.flatMap((file) => file?.match(/^\.\/dist\/(.+)\.js$/)?.[1] ?? []);
  return Object.fromEntries(names.map((name) => [name, join(folder, `src/${name}.ts`)]));
}

/** The modules that load with these, as far as nothing is imported later or for its types only. */
function staticallyImported(...files) {
  const found = new Set();
  const visit = (file) => {
    if (found.has(file)) return;
    found.add(file);
    const imports = readFileSync(file, "utf8").matchAll(/^(?:import|export)\s+(?!type\b)[^;]*?from\s+"(\.[^"]+)"/gm);
    for (const [, target] of imports) visit(join(dirname(file), target));
  };
  files.forEach(visit);
  return found;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const reason = await buildLibrary();
  if (reason !== undefined) {
    console.error(reason);
    process.exit(1);
  }
}
