// Builds the `portolan` command: one file with all that it uses in it.
import { createHash } from "node:crypto";
import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "rolldown";
import { parseAst } from "rolldown/parseAst";
import { bundleConsole } from "./bundle-console.mjs";
import { swapIn } from "./swap-in.mjs";

const loader = readFileSync(new URL("command-loader.mjs", import.meta.url), "utf8");

/**
 * Writes `dist/cli/main.js` of the library, and beside it the licences of what is bundled, the page of the console, and
 * the compiler for server files in TypeScript.
 */
export async function bundleCommand(root, library, host) {
  const { output } = await build({
    input: { main: join(root, "packages/cli/src/main.ts") },
    platform: "node",
    // jiti loads a part of its own by path, so it cannot be in the bundle: a copy stands beside it.
    external: [/^node:/, "jiti"],
    resolve: { alias: { ...sourcesOf(host), ...sourcesOf(library) }, mainFields: ["module", "main"] },
    output: {
      format: "cjs",
      paths: { jiti: "./vendor/jiti/lib/jiti.mjs" },
      minify: true,
      entryFileNames: "[name].cjs",
      chunkFileNames: "[name].cjs",
    },
    write: false,
    // Whether a part of the library comes with another is the library's matter.
    checks: { ineffectiveDynamicImport: false },
    logLevel: "warn",
  });
  const parts = output.map(({ fileName, code }) => [fileName, withImports(code)]);
  const order = (file) => ["console/app.js", "console/index.html", "main.js"].indexOf(file);
  await swapIn(join(library, "dist/cli"), { root, order, isStale: () => true }, async (next) => {
    writeFileSync(join(next, "main.js"), commandOf(parts), { mode: 0o755 });
    const ofConsole = await bundleConsole(root, join(next, "console"));
    const ofCommand = output.flatMap(({ moduleIds = [] }) => moduleIds);
    writeFileSync(join(next, "licenses.txt"), licensesOf([...ofCommand, ...ofConsole]));
    writeFileSync(join(next, "preview.js"), await bundlePreview(root, library, host));
    for (const part of ["LICENSE", "dist", "lib/jiti.mjs"]) {
      cpSync(join(root, "node_modules/jiti", part), join(next, "vendor/jiti", part), { recursive: true });
    }
  });
}

/** Returns the file of the command: the loader, the parts in a comment, and the start. */
function commandOf(parts) {
  const names = parts.map(([name]) => name);
  const lines = parts.map(([, code]) =>
    // Two characters stand for what a line of a comment cannot have. Where a string has them, it has an escape instead.
    code
      .replaceAll("\u0001", "\\x01")
      .replaceAll("\u0002", "\\x02")
      .replaceAll("*/", "*\u0001")
      .replaceAll("\n", "\u0002"),
  );
  const build = createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 16);
  return loader
    .replace("const names = [];", () => `const names = ${JSON.stringify(names)};`)
    .replace('const build = "";', `const build = "${build}";`)
    .replace("/* parts\n", () => `/* parts\n${lines.join("\n")}\n`);
}

/** Returns the script of the page of `dev --apps`, which runs in a browser. */
async function bundlePreview(root, library, host) {
  const { output } = await build({
    input: join(root, "packages/cli/src/preview/page.ts"),
    platform: "browser",
    resolve: { alias: { ...sourcesOf(host), ...sourcesOf(library) } },
    output: { format: "iife", minify: true },
    write: false,
    logLevel: "warn",
  });
  return output[0].code;
}

/** Returns the licences of the packages in the bundle: they demand to be passed on with it. */
function licensesOf(modules) {
  const folders = modules.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(id)?.[0] ?? []);
  return [...new Set(folders)]
    .sort()
    .map((folder) => {
      const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
      const file = readdirSync(folder).find((one) => /^licen[cs]e(\.(md|txt))?$/i.test(one));
      if (file === undefined) throw new Error(`${name} is bundled into the command, but has no licence to pass on`);
      return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
    })
    .join(`\n${"-".repeat(80)}\n\n`);
}

/** What is compiled from a text cannot import by itself: the file does it for its parts. */
function withImports(code) {
  const places = [];
  const visit = (node) => {
    if (node === null || typeof node !== "object") return;
    if (node.type === "ImportExpression") places.push(node.start);
    for (const child of Object.values(node)) visit(child);
  };
  visit(parseAst(code));
  let written = "";
  let end = 0;
  for (const start of places.sort((a, b) => a - b)) {
    written += `${code.slice(end, start)}importOther`;
    end = start + "import".length;
  }
  return written + code.slice(end);
}

/** The source file of each entry of a package: its built files are divided for other users. */
function sourcesOf(folder) {
  const { name: packageName, exports, imports = {} } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const sources = Object.entries(exports).flatMap(([name, { node, default: file }]) =>
    file ? [[`${packageName}${name.slice(1)}`, join(folder, toSource(node ?? file))]] : [],
  );
  for (const [name, { node }] of Object.entries(imports)) sources.push([name, join(folder, toSource(node))]);
  // Names with a path come first, for the shorter fit them, too.
  return Object.fromEntries(sources.reverse());
}

function toSource(file) {
  return file.replace("./dist/", "src/").replace(/\.js$/, ".ts");
}
