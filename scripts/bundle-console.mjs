// Builds the page of the console: the script with its late parts, one style sheet, and the document.
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "rolldown";

/**
 * Writes the page to `folder`. Returns the ids of the modules in it, whose licences must be passed on.
 * @param {string} root
 * @param {string} folder
 */
export async function bundleConsole(root, folder) {
  const app = join(root, "packages/console/src/app");
  mkdirSync(folder, { recursive: true });
  const { output } = await build({
    input: { app: join(app, "main.tsx") },
    platform: "browser",
    resolve: { alias: { ...sourcesOf(join(root, "packages/host")), ...sourcesOf(join(root, "packages/portolan")) } },
    output: {
      dir: folder,
      format: "esm",
      minify: true,
      entryFileNames: "[name].js",
      // A changed part has another name, so that a browser never keeps an old one.
      chunkFileNames: "[name]-[hash].js",
    },
    logLevel: "warn",
  });
  writeFileSync(join(folder, "app.css"), minifyStyle(stylesIn(join(app, "styles"))));
  if (existsSync(join(app, "index.html"))) copyFileSync(join(app, "index.html"), join(folder, "index.html"));
  return output.flatMap((chunk) => (chunk.type === "chunk" ? chunk.moduleIds : []));
}

/** The source file of each entry of a package, and of what it imports without Node. */
function sourcesOf(folder) {
  const { name: packageName, exports, imports = {} } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const entries = [
    ...Object.entries(exports).map(([name, entry]) => [`${packageName}${name.slice(1)}`, entry.default]),
    ...Object.entries(imports).map(([name, entry]) => [name, entry.default]),
  ];
  const sources = entries.flatMap(([name, file]) =>
    file ? [[name, join(folder, file.replace("./dist/", "src/").replace(/\.js$/, ".ts"))]] : [],
  );
  // Names with a path come first, for the shorter fit them, too.
  return Object.fromEntries(sources.reverse());
}

/** Returns the style sheets of a folder as one text, in the order of their names. */
function stylesIn(folder) {
  if (!existsSync(folder)) return "";
  const files = readdirSync(folder).filter((name) => name.endsWith(".css"));
  return files
    .sort()
    .map((name) => readFileSync(join(folder, name), "utf8"))
    .join("\n");
}

/** Removes comments and the white space at the start and end of lines. */
function minifyStyle(text) {
  return text
    .replace(/\/\*[\s\S]*?\*\//g, "")
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean)
    .join("\n");
}
