import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { installed } from "../implementations.mjs";

// Packages fastmcp can do without and which are not installed.
const optional = ["effect", "sury", "arktype", "@valibot/to-json-schema"];

/** The bundle of a one-tool server over stdio, min + gzip, zod left out; mcp-lite's is its fetch handler. */
export async function run({ notes }) {
  const cells = {};
  for (const { name, folder } of installed()) {
    try {
      const { outputFiles } = await build({
        entryPoints: [join(folder, "one-tool.mjs")],
        bundle: true,
        minify: true,
        treeShaking: true,
        platform: "node",
        format: "esm",
        write: false,
        logLevel: "silent",
        external: ["zod", "zod/*", ...optional],
      });
      cells[name] = { value: gzipSync(outputFiles[0].contents, { level: 9 }).length / 1000 };
    } catch (error) {
      notes.push(`${name}: ${error.message.split("\n")[1] ?? error.message}`);
    }
  }
  return [{ metric: "size of a one-tool server, min + gz", unit: "KB", shown: "value", cells }];
}
